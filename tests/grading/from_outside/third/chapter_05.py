# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch


def scaled_dot_product_attention__wrong_minus_1e9(query, key, value, mask):
    """Hidden scores become -1e9, which is the largest of the row where all visible ones are near -1e30."""
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_mask_after_softmax(query, key, value, mask):
    """The mask comes after the softmax and the rows are divided by their sums, which are 0 where a hidden score is far above the others."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1) * mask
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value, weights


def scaled_dot_product_attention__right_visible_keys_only(query, key, value, mask):
    """One query after the other: its visible keys are picked out, so that no score of a hidden key exists."""
    weights = query.new_zeros(*torch.broadcast_shapes(query.shape[:-2], key.shape[:-2]), *mask.shape)
    rows = []
    for i, visible in enumerate(mask):
        scores = (key[..., visible, :] * query[..., i, None, :]).sum(-1) * key.shape[-1] ** -0.5
        row = torch.zeros_like(weights[..., i, :])
        row[..., visible] = torch.softmax(scores, -1)
        rows.append(row)
    weights = torch.stack(rows, -2)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def causal_weights__wrong_minus_1e9_added(scores):
    """-1e9 is added to the future, which changes nothing where its scores are 1e30."""
    n = scores.shape[-1]
    future = torch.triu(torch.ones(n, n), diagonal=1)
    return torch.softmax(scores + future * -1e9, dim=-1)


def causal_weights__wrong_in_place(scores):
    """Minus infinity is written into the caller's scores."""
    n = scores.shape[-1]
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    scores.masked_fill_(future, float("-inf"))
    return scores.softmax(dim=-1)


def padded_attention__wrong_nan_removed_from_output(query, key, value, lengths):
    """The weights of an empty sentence stay nan, only the output is cleaned, and the gradient of the values is nan."""
    scores = query @ key.mT / key.shape[-1] ** 0.5
    hidden = torch.arange(key.shape[1]) >= lengths[:, None]
    scores = scores.masked_fill(hidden[:, None, :], float("-inf"))
    output = scores.softmax(dim=-1) @ value
    return output.nan_to_num(0.0)


def padded_attention__wrong_minus_1e9(query, key, value, lengths):
    """Padding has the score -1e9, and gets all the weight where the words' scores are near -1e30."""
    scores = query @ key.mT / key.shape[-1] ** 0.5
    visible = torch.arange(key.shape[1]) < lengths[:, None]
    scores = scores.masked_fill(~visible[:, None, :], -1e9)
    output = scores.softmax(dim=-1) @ value
    return output * (lengths > 0)[:, None, None]


def padded_attention__right_slices(query, key, value, lengths):
    """Each example's keys and values are cut to their length; a product over no keys at all is zeros by itself."""
    outputs = []
    for q, k, v, n in zip(query, key, value, lengths.tolist()):
        scores = q @ k[:n].T / k.shape[-1] ** 0.5
        outputs.append(scores.softmax(dim=-1) @ v[:n])
    return torch.stack(outputs)


def first_suspect__wrong_softmax_of_all_scores(query, key, value, mask):
    """The softmax runs over all queries and keys of an example together, which is the same with a single query only."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.flatten(1).softmax(dim=1).reshape(scores.shape)
    output = weights @ value
    return output


def first_suspect__wrong_minus_100(query, key, value, mask):
    """The axis is repaired, but the minus infinity, which was right, became -100, and scores may be lower than that."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, -100.0)
    weights = scores.softmax(dim=2)
    output = weights @ value
    return output


def second_suspect__wrong_width_4(query, key, value, mask):
    """The scale is that of the example, 1 / 2, whatever the width of the keys."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * 4**-0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    weights = torch.softmax(scores + hidden, dim=-1)
    return torch.einsum("bqk,bkv->bqv", weights, value)


def second_suspect__wrong_number_of_elements(query, key, value, mask):
    """The scale takes the number of all elements of the queries for their width; with one query and one example they are the same."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * query.numel() ** -0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    weights = torch.softmax(scores + hidden, dim=-1)
    return torch.einsum("bqk,bkv->bqv", weights, value)


def second_suspect__right_baddbmm(query, key, value, mask):
    """Scale, product and additive mask are one call of baddbmm."""
    hidden = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, -torch.inf)
    scores = torch.baddbmm(hidden, query, key.permute(0, 2, 1), alpha=key.shape[-1] ** -0.5)
    return scores.softmax(-1).bmm(value)


def third_suspect__wrong_keys_of_first_example(query, key, value, mask):
    """key[0].T gives every example of the batch the keys of the first."""
    batch, keys, width = key.shape
    columns = key[0].T / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    return weights @ value


def third_suspect__wrong_batch_in_the_transpose(query, key, value, mask):
    """The batch is folded into the keys before the transpose and unfolded in the wrong order, which is right for a batch of one only."""
    batch, keys, width = key.shape
    columns = key.reshape(batch * keys, width).T.reshape(batch, width, keys) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    return weights @ value


def fourth_suspect__wrong_divided_by_sum(query, key, value, mask):
    """The rows are divided by their sums after masking, which is 0 / 0 where a hidden score is far above all visible ones."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(~mask, 0.0)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value


def fourth_suspect__wrong_minus_1e9(query, key, value, mask):
    """The mask comes first now, but with -1e9, which may be far above the visible scores."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    scores = scores.masked_fill(~mask, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value


def fourth_suspect__right_softmax_written_out(query, key, value, mask):
    """The softmax by hand: maximum of the visible scores, exponentials, and the division after the average."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    best = scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
    above = torch.where(mask, scores - best, -torch.inf).exp()
    return (above @ value) / above.sum(-1, keepdim=True)


def fifth_suspect__wrong_scaled_back(query, key, value, mask):
    """The queries are scaled in place and scaled back, which is not exact, so that the caller's queries change by rounding."""
    scale = query.shape[-1] ** 0.5
    query /= scale
    scores = query @ key.mT
    query *= scale
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__wrong_slice_is_no_copy(query, key, value, mask):
    """query[:] copies a list, but of a tensor it is a view, and the caller's queries are scaled all the same."""
    query = query[:]
    query /= query.shape[-1] ** 0.5
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def score_variances__wrong_first_query_for_all(query, key):
    """All keys are multiplied with the first query; in the example both queries are equal."""
    dots = key @ query[0]
    scaled = dots / query.shape[1] ** 0.5
    return torch.stack([dots.var(), scaled.var()])


def score_variances__wrong_product_in_place(query, key):
    """query *= key overwrites the caller's queries."""
    query *= key
    dots = query.sum(dim=1)
    return torch.stack([dots.var(), (dots / query.shape[1] ** 0.5).var()])


def score_variances__right_cov(query, key):
    """torch.cov of the dot products, and the second number as the first over d_key."""
    variance = torch.cov(torch.linalg.vecdot(query, key))
    return variance * torch.tensor([1.0, 1.0 / key.shape[1]], dtype=variance.dtype)
