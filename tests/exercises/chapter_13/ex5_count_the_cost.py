"""Right answers to 13.5 that are written in other ways."""

import torch


def layer_costs_matrix_by_matrix(query, key, d_model, heads):

    def product(rows, inner, columns):
        return rows * inner * columns

    d_head = d_model // heads
    return torch.tensor(
        [
            sum(product(query, d_model, d_model) for _ in range(4)),
            sum(product(query, d_head, key) for _ in range(heads)),
            sum(product(query, key, d_head) for _ in range(heads)),
            sum(query * key for _ in range(heads)),
        ]
    )


def layer_costs_stacked(query, key, d_model, heads):
    pairs = torch.tensor(query * key)
    return torch.stack([torch.tensor(4 * query) * d_model**2, pairs * d_model, pairs * d_model, pairs * heads])


def layer_costs_entry_by_entry(query, key, d_model, heads):
    counts = torch.zeros(4, dtype=torch.long)
    counts[0] = 2 * d_model * query * 2 * d_model
    counts[1:3] = query * key * (d_model // heads) * heads
    counts[3] = query * key * heads
    return counts


def numbers_kept_by_tokens(batch, time, d_model, heads, groups, layers):
    one_token = 2 * groups * (d_model // heads)
    return torch.tensor(one_token * time * batch * layers)


def numbers_kept_by_all_heads(batch, time, d_model, heads, groups, layers):
    return torch.tensor(2 * batch * time * d_model * layers // (heads // groups))


def numbers_kept_by_prod(batch, time, d_model, heads, groups, layers):
    return torch.prod(torch.tensor([2, batch, time, layers, groups, d_model // heads]))


def costs_of_writing_in_closed_form(prompt, new, d_model):

    def first(n):
        return n * (n + 1) // 2

    def squares(n):
        return n * (n + 1) * (2 * n + 1) // 6

    last, before = prompt + new - 1, prompt - 1
    cached = 4 * d_model**2 * last + 2 * d_model * (prompt**2 + first(last) - first(prompt))
    plain = 4 * d_model**2 * (first(last) - first(before)) + 2 * d_model * (squares(last) - squares(before))
    return torch.tensor(cached), torch.tensor(plain)


def costs_of_writing_in_tensors(prompt, new, d_model):
    time = torch.arange(prompt, prompt + new)
    query = torch.ones_like(time)
    query[0] = prompt
    return tuple((4 * each * d_model**2 + 2 * each * time * d_model).sum() for each in (query, time))


def costs_of_writing_by_a_loop(prompt, new, d_model):
    sums = [0, 0]
    for step in range(new):
        length = prompt + step
        for number, asking in enumerate((prompt if step == 0 else 1, length)):
            sums[number] += asking * d_model * (4 * d_model + 2 * length)
    return torch.tensor(sums[0]), torch.tensor(sums[1])
