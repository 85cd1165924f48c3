# Two commands for a machine that has Python and make:
#   make book    build the book and say where it is        (SOLUTIONS=0 leaves the worked solutions out)
#   make test    run everything: lint, unit tests and doctests, the notebooks, the book in a browser
# and   make start   a student's part: the exercises and what they need, in .venv-start, without the book
#       make serve   read the book at http://localhost:8000
#       make pdf     the whole book as one PDF, _build/course.pdf
#       make check   lint, and whether generated files are in step
#       make check-exercise ID=03.6    what is missing in one exercise, in sentences
#       make soak MINUTES=60           what must hold on every seed, on fresh ones
#       make bench ROWS="attention book"    how fast it is, beside torch's modules and what is in PEERS_DIR; all rows by default
#       make clean   remove what the others made
# TORCH=cpu or TORCH=cuda names the build of torch; without it, install.py chooses, and what was named once stays.
# Each step runs only when its inputs changed. Stamps: .venv/.installed, .venv/.browser, .venv/.locks, _build/html/.built

PYTHON  ?= python3
BIN     := .venv/bin
PYTEST  := $(BIN)/python -m pytest --quiet
WORKERS := --numprocesses auto --maxprocesses 8
# One more than there are cores: many of these tests wait for a time limit, and something else can work meanwhile.
WAITING = --numprocesses $(shell $(PYTHON) -c 'import os; print(min(8, 1 + os.cpu_count()))') --dist worksteal
PORT    ?= 8000
MINUTES ?= 60
# Of all that is random in the tests; another one makes them look elsewhere.
export COURSE_TEST_SEED ?= 0

ifeq ($(SOLUTIONS),0)
OUTPUT := _build/without_solutions
TOC    := $(OUTPUT)/_toc.yml
HTML   := $(OUTPUT)/_build/html
else
OUTPUT := .
TOC    := _toc.yml
HTML   := _build/html
endif

# What the pages are made of. The notebooks, not their texts: a build publishes what `course sync` executed.
SOURCES := _config.yml $(TOC) $(shell find book exercises solutions course_lib -type f -not -path 'book/text/*' \
    -not -path '*/.*' -not -path '*/__pycache__/*' 2>/dev/null)

.PHONY: book start serve pdf check check-exercise soak bench test test-code test-notebooks test-rendered clean another-torch
.NOTPARALLEL:
.DELETE_ON_ERROR:

book: $(HTML)/.built
	@echo "The book is here, open it in a browser: $(CURDIR)/$(HTML)/index.html"

# Whole every time: a build that only adds keeps quiet about the pages that it did not read again, and keeps pages that are gone.
$(HTML)/.built: .venv/.installed $(SOURCES)
	@rm -rf $(HTML) $(OUTPUT)/_build/.doctrees
	$(BIN)/jupyter-book build . -W -n --keep-going --quiet --toc $(TOC) --path-output $(OUTPUT) >/dev/null
	@touch $@

_build/without_solutions/_toc.yml: _toc.yml
	@mkdir -p $(@D)
	@sed '/file: solutions/d' $< > $@

serve: $(HTML)/.built
	@echo "The book: http://localhost:$(PORT)/ (stop with Ctrl-C)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(HTML) $(PORT)

pdf: $(HTML)/.built .venv/.browser
	$(BIN)/python -m course_lib.authoring.pdf $(TOC) $(HTML) _build/course.pdf

check: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/course sync --check
	$(BIN)/course make-exercises --check

check-exercise: .venv/.installed
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/course check-exercise $(ID)

soak: .venv/.installed .venv/.locks
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

bench: .venv/.installed
	$(BIN)/python -m benchmarks $(ROWS)

test:
	@echo "What is random in the tests comes from seed $(COURSE_TEST_SEED)."
	@MAKE=$(MAKE) $(PYTHON) tests/timed.py .venv/.installed check test-code test-notebooks book test-rendered

test-code: .venv/.installed .venv/.locks
	$(PYTEST) $(WAITING) -m "not rendered"

test-notebooks: .venv/.installed
	$(PYTEST) $(WORKERS) --dist loadfile --nbval --nbval-current-env book

# A run of its own: Playwright keeps an event loop in its process, and other tests start theirs.
test-rendered: _build/html/.built .venv/.browser
	$(PYTEST) $(WORKERS) --maxschedchunk 1 -m rendered tests/book

start: .venv-start/.installed
	@.venv-start/bin/course start
	@echo "In each new shell, before these: source .venv-start/bin/activate"

.venv/.created .venv-start/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The course needs Python 3.11 or later; $(PYTHON) is Python %d.%d. Name another one: make PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv $(@D)
	@touch $@

# What TORCH named the last time stands in the stamp, and stays until it names another.
another = $(if $(filter-out $(shell cat $(1) 2>/dev/null),$(TORCH)),another-torch)
.venv/.installed: .venv/.created requirements.txt $(call another,.venv/.installed)
.venv-start/.installed: .venv-start/.created requirements-start.txt $(call another,.venv-start/.installed)
.venv/.installed .venv-start/.installed: pyproject.toml install.py
	@$(@D)/bin/python install.py $(filter requirements%,$^) $(or $(TORCH),$(shell cat $@ 2>/dev/null))
	@echo $(or $(TORCH),$(shell cat $@ 2>/dev/null)) > $@

.venv/.browser: .venv/.installed course_lib/authoring/browser.py
	$(BIN)/python -m course_lib.authoring.browser
	@touch $@

.venv/.locks: .venv/.installed tests/grading/locks.py
	$(BIN)/python tests/grading/locks.py
	@touch $@

clean:
	rm -rf .venv .venv-start _build .pytest_cache .ruff_cache .hypothesis
