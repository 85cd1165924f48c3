"""Right answers to 16.5 that are written in other ways."""

import torch


def accept_or_replace_row_by_row(p, q, guess, accept_uniform, replace_uniform):
    tokens = []
    for large, small, token, first, second in zip(p, q, guess.tolist(), accept_uniform, replace_uniform, strict=True):
        if first * small[token] >= large[token]:
            rest = (large - small).clamp(min=0)
            running = (rest / rest.sum()).cumsum(0)
            running[running >= running[-1]] = 1.0
            token = next(place for place, total in enumerate(running.tolist()) if total > second)
        tokens.append(token)
    return torch.tensor(tokens)


def accept_or_replace_by_searchsorted(p, q, guess, accept_uniform, replace_uniform):
    ratio = torch.minimum(torch.ones(()), p.gather(1, guess[:, None]) / q.gather(1, guess[:, None])).squeeze(1)
    lacking = torch.relu(p - q).double()
    running = lacking.cumsum(1)
    wanted = replace_uniform.double()[:, None] * running[:, -1:]
    other = torch.searchsorted(running, wanted, right=True).squeeze(1)
    return guess.where(accept_uniform < ratio, other)


def accept_or_replace_by_a_mask(p, q, guess, accept_uniform, replace_uniform):
    chosen = torch.nn.functional.one_hot(guess, p.shape[-1]).bool()
    rejected = accept_uniform >= p[chosen] / q[chosen]
    tokens = guess.clone()
    if rejected.any():
        rest = (p[rejected] - q[rejected]).clamp_min(0)
        running = rest.cumsum(-1) / rest.sum(-1, keepdim=True)
        running = torch.where(running >= running[:, -1:], 1.0, running)
        tokens[rejected] = (running > replace_uniform[rejected, None]).int().argmax(-1)
    return tokens


def judge_in_a_loop(p, q, guesses, uniforms):
    for place, token in enumerate(guesses):
        if uniforms[place] >= p[place, token] / q[place, token]:
            rest = torch.where(p[place] > q[place], p[place] - q[place], 0.0)
            return torch.tensor(place), rest / rest.sum()
    return torch.tensor(len(guesses)), p[len(guesses)]


def judge_with_a_row_of_zeros(p, q, guesses, uniforms):
    """Less nothing, the last row of p is its own positive part."""
    small = torch.cat([q, torch.zeros_like(p[:1])])
    quotients = p[:-1].gather(1, guesses[:, None]) / q.gather(1, guesses[:, None])
    passed = (uniforms[:, None] < quotients).flatten().tolist()
    kept = (passed + [False]).index(False)
    rest = torch.relu(p[kept] - small[kept])
    return torch.tensor(kept), rest / rest.sum()


def judge_by_the_first_place(p, q, guesses, uniforms):
    at = guesses[:, None]
    rejected = uniforms * q.gather(1, at)[:, 0] >= p[:-1].gather(1, at)[:, 0]
    if not rejected.any():
        return torch.tensor(len(guesses)), p[-1].clone()
    kept = rejected.nonzero()[0, 0]
    rest = p[kept] - torch.minimum(p[kept], q[kept])
    return kept, torch.nn.functional.normalize(rest, p=1, dim=0)
