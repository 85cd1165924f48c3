"""How fast the course's code is, beside torch's own modules and beside public implementations: `make bench`.

Nothing here is part of the package that learners install. `measuring` takes the time, each module of `rows` measures
one kind of work, each module of `implementations` brings one project to the same sizes, and `report` writes what was
found: on the terminal, into `book/_data/how_fast.json`, and onto the book's page *How fast is it*.
"""
