# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import math
from collections import Counter

import torch
from torch.nn import functional as F


def _features(x):
    return torch.where(x > 0, x + 1, torch.exp(x))


def _read(total, normaliser, query, key, value):
    k = _features(key)
    q = _features(query)
    total = total + k[:, :, None] * value[:, None, :]
    normaliser = normaliser + k
    output = torch.einsum("bk,bkv->bv", q, total) / (q * normaliser).sum(-1, keepdim=True)
    return output, total, normaliser


def _most_frequent(tokens):
    counts = Counter(zip(tokens, tokens[1:]))
    return min(counts.items(), key=lambda item: (-item[1], item[0]))


def _merge(tokens, pair, new):
    merged, i = [], 0
    while i < len(tokens):
        if tuple(tokens[i : i + 2]) == tuple(pair):
            merged.append(new)
            i += 2
        else:
            merged.append(tokens[i])
            i += 1
    return merged


def rms_norm__wrong_epsilon_outside(inputs, gain, epsilon):
    """Adds epsilon to the root instead of under it."""
    root = inputs.pow(2).mean(dim=-1, keepdim=True).sqrt() + epsilon
    return gain * inputs / root


def rms_norm__wrong_gain_plus_one(inputs, gain, epsilon):
    """Multiplies by 1 + gain, as some published models do."""
    return inputs * torch.rsqrt(inputs.pow(2).mean(-1, keepdim=True) + epsilon) * (1 + gain)


def rms_norm_backward__wrong_gain_on_path(inputs, gain, epsilon, upstream):
    """Forgets the gain on the path through the root."""
    r = torch.sqrt(inputs.square().mean(dim=-1, keepdim=True) + epsilon)
    n = inputs / r
    d_inputs = (upstream * gain - n * (upstream * n).mean(dim=-1, keepdim=True)) / r
    return d_inputs, (upstream * n).flatten(0, -2).sum(dim=0) if n.ndim > 1 else upstream * n


def rms_norm_backward__wrong_first_axis(inputs, gain, epsilon, upstream):
    """Sums the gradient of the gain over the first axis alone, which is not enough with two leading axes."""
    r = torch.sqrt(inputs.square().mean(dim=-1, keepdim=True) + epsilon)
    n = inputs / r
    g = upstream * gain
    d_inputs = (g - n * (g * n).mean(dim=-1, keepdim=True)) / r
    d_gain = upstream * n
    if d_gain.ndim > 1:
        d_gain = d_gain.sum(dim=0)
    return d_inputs, d_gain


def rms_norm_backward__right_jacobians(inputs, gain, epsilon, upstream):
    """Right: vector by vector, with the whole matrix of derivatives."""
    d = inputs.shape[-1]
    xs, us = inputs.reshape(-1, d), upstream.reshape(-1, d)
    d_gain = torch.zeros_like(gain)
    rows = []
    for x, u in zip(xs, us):
        square = x.dot(x) / d + epsilon
        r = square.sqrt()
        jacobian = torch.diag(gain / r) - torch.outer(gain * x / r, x / (d * square))
        rows.append(u @ jacobian)
        d_gain = d_gain + u * x / r
    return torch.stack(rows).reshape(inputs.shape), d_gain


def swiglu__wrong_side(inputs, gate, up, down):
    """Passes the other hidden vector through SiLU."""
    return (inputs @ gate * F.silu(inputs @ up)) @ down


def swiglu__right_logarithm(inputs, gate, up, down):
    """Right: the sigmoid as the exponential of its logarithm, the products by einsum."""
    z = torch.einsum("...d,dh->...h", inputs, gate)
    silu = z * F.logsigmoid(z).exp()
    return torch.einsum("...h,...h,hd->...d", silu, torch.einsum("...d,dh->...h", inputs, up), down)


def equal_width__wrong_cut_off(d_model, d_hidden, multiple):
    """Cuts off the fraction of two thirds before it rounds up to the multiple."""
    width = 2 * d_hidden // 3
    width = -(-width // multiple) * multiple
    return torch.tensor([width, 3 * d_model * width - 2 * d_model * d_hidden])


def equal_width__wrong_one_multiple_more(d_model, d_hidden, multiple):
    """Goes on to the next multiple also where two thirds are one already."""
    width = (2 * d_hidden // 3 // multiple + 1) * multiple
    return torch.tensor([width, d_model * (3 * width - 2 * d_hidden)])


def rotate__wrong_halves(vectors, positions, base, factor):
    """Pairs entry i with the one half a vector further on instead of its neighbour."""
    half = vectors.shape[-1] // 2
    frequencies = base ** (-torch.arange(half) / half)
    angles = positions[:, None] / factor * frequencies
    x, y = vectors[..., :half], vectors[..., half:]
    return torch.cat(
        [x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()],
        dim=-1,
    )


def rotate__wrong_exponent(vectors, positions, base, factor):
    """Has -i / width in the exponent instead of -2i / width, so the pairs turn too fast."""
    width = vectors.shape[-1]
    frequencies = base ** (-torch.arange(width // 2) / width)
    angles = positions[:, None] / factor * frequencies
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    turned = torch.stack(
        [x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()],
        dim=-1,
    )
    return turned.flatten(-2)


def rotate__right_complex(vectors, positions, base, factor):
    """Right: pairs as complex numbers, multiplied by numbers of length 1."""
    width = vectors.shape[-1]
    frequencies = torch.tensor([base ** (-2 * i / width) for i in range(width // 2)])
    angles = torch.outer(positions / factor, frequencies)
    pairs = torch.complex(vectors[..., 0::2], vectors[..., 1::2])
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def yarn_frequencies__wrong_no_clamp(width, base, factor, trained_length, alpha, beta):
    """Does not keep the share between 0 and 1."""
    f = base ** (-torch.arange(0, width, 2) / width)
    r = trained_length * f / (2 * math.pi)
    share = torch.log(r / alpha) / math.log(beta / alpha)
    return share * f + (1 - share) * f / factor


def yarn_frequencies__wrong_straight(width, base, factor, trained_length, alpha, beta):
    """Lets the share grow with the rotations themselves instead of their logarithm."""
    f = base ** (-torch.arange(0, width, 2) / width)
    r = trained_length * f / (2 * math.pi)
    share = ((r - alpha) / (beta - alpha)).clamp(0, 1)
    return share * f + (1 - share) * f / factor


def route__wrong_order(logits):
    """Returns the two experts in the order of their numbers, not the best first."""
    chosen = logits.topk(2, dim=-1).indices.sort(dim=-1).values
    return chosen, logits.gather(-1, chosen).softmax(dim=-1)


def route__wrong_overflow(logits):
    """Takes the exponentials of the logits as they are, which overflows at several thousands."""
    best, chosen = logits.topk(2, dim=-1)
    e = best.exp()
    return chosen, e / e.sum(dim=-1, keepdim=True)


def route__right_difference(logits):
    """Right: the best, the best of the rest, and the sigmoid of their difference."""
    first = logits.argmax(dim=-1, keepdim=True)
    second = logits.scatter(-1, first, -torch.inf).argmax(dim=-1, keepdim=True)
    gap = logits.gather(-1, first) - logits.gather(-1, second)
    return torch.cat([first, second], dim=-1), torch.cat([torch.sigmoid(gap), torch.sigmoid(-gap)], dim=-1)


def mix__wrong_everyone(inputs, logits, experts):
    """Calls every expert with all tokens."""
    best, chosen = logits.topk(2, dim=-1)
    shares = torch.zeros_like(logits).scatter(-1, chosen, best.softmax(dim=-1))
    outputs = torch.stack([expert(inputs) for expert in experts], dim=1)
    return (shares[:, :, None] * outputs).sum(dim=1)


def mix__wrong_no_gradient_for_router(inputs, logits, experts):
    """Makes plain numbers of the shares, so no gradient arrives at the logits."""
    best, chosen = logits.topk(2, dim=-1)
    shares = best.softmax(dim=-1)
    rows = []
    for token in range(len(inputs)):
        row = 0
        for choice in range(2):
            expert = experts[int(chosen[token, choice])]
            row = row + shares[token, choice].item() * expert(inputs[token : token + 1])
        rows.append(row)
    return torch.cat(rows)


def mix__right_token_by_token(inputs, logits, experts):
    """Right: one token after the other, with the two experts of its sorted logits."""
    rows = []
    for x, row in zip(inputs, logits):
        a, b = row.argsort(descending=True)[:2].tolist()
        share = torch.sigmoid(row[a] - row[b])
        y = share * experts[a](x[None]) + torch.sigmoid(row[b] - row[a]) * experts[b](x[None])
        rows.append(y[0])
    return torch.stack(rows)


def balance_loss__wrong_part_of_tokens(logits, chosen):
    """Divides the counts by the number of tokens instead of the number of choices."""
    tokens, experts = logits.shape
    c = torch.bincount(chosen.flatten(), minlength=experts) / tokens
    return experts * (c * logits.softmax(dim=-1).mean(dim=0)).sum()


def balance_loss__wrong_best_alone(logits, chosen):
    """Counts the first choice of each token alone."""
    experts = logits.shape[1]
    c = F.one_hot(chosen[:, 0], experts).float().mean(dim=0)
    return experts * torch.dot(c, logits.softmax(dim=1).mean(dim=0))


def balance_loss__right_by_choice(logits, chosen):
    """Right: adds up the mean probability of every choice, without counting experts."""
    mean = torch.softmax(logits, dim=1).mean(dim=0)
    return logits.shape[1] * mean[chosen.reshape(-1)].mean()


def accept_or_replace__wrong_absolute(p, q, guess, accept_uniform, replace_uniform):
    """Takes the absolute difference of p and q instead of its positive part."""
    rows = torch.arange(len(guess))
    kept = accept_uniform < p[rows, guess] / q[rows, guess]
    running = (p - q).abs().cumsum(dim=1)
    other = (running / running[:, -1:] > replace_uniform[:, None]).int().argmax(dim=1)
    return torch.where(kept, guess, other)


def accept_or_replace__wrong_at_zero(p, q, guess, accept_uniform, replace_uniform):
    """Keeps a guess of probability 0 where the number is 0, and draws where the running sum reaches the number."""
    kept = accept_uniform <= p.gather(1, guess[:, None])[:, 0] / q.gather(1, guess[:, None])[:, 0]
    running = torch.relu(p - q).cumsum(dim=1)
    running = running / running[:, -1:]
    other = torch.searchsorted(running, replace_uniform[:, None])[:, 0]
    return torch.where(kept, guess, other.clamp(max=p.shape[1] - 1))


def accept_or_replace__right_row_by_row(p, q, guess, accept_uniform, replace_uniform):
    """Right: row by row, with running sums in plain numbers."""
    written = []
    for row in range(len(guess)):
        x = int(guess[row])
        a, b = p[row].tolist(), q[row].tolist()
        if float(accept_uniform[row]) * b[x] < a[x]:
            written.append(x)
            continue
        lacking = [max(u - v, 0.0) for u, v in zip(a, b)]
        target = float(replace_uniform[row]) * sum(lacking)
        token, running = 0, lacking[0]
        while running <= target and token + 1 < len(lacking):
            token += 1
            running += lacking[token]
        written.append(token)
    return torch.tensor(written, dtype=guess.dtype)


def judge__wrong_counts_all(p, q, guesses, uniforms):
    """Counts guesses behind a rejected one too."""
    n = len(guesses)
    rows = torch.arange(n)
    kept = (uniforms < p[rows, guesses] / q[rows, guesses]).sum()
    if kept == n:
        return kept, p[n].clone()
    rest = (p[kept] - q[kept]).clamp(min=0)
    return kept, rest / rest.sum()


def judge__wrong_p_of_rejected(p, q, guesses, uniforms):
    """Draws the token in the place of a rejected guess from p as it is."""
    rows = torch.arange(len(guesses))
    good = uniforms < p[rows, guesses] / q[rows, guesses]
    kept = good.long().cumprod(dim=0).sum()
    return kept, p[kept].clone()


def judge__right_row_of_zeros(p, q, guesses, uniforms):
    """Right: gives q a last row of zeros, so that both cases are one formula."""
    ratio = p[:-1].gather(1, guesses[:, None])[:, 0] / q.gather(1, guesses[:, None])[:, 0]
    rejected = torch.cat([uniforms >= ratio, torch.tensor([True])])
    kept = rejected.int().argmax()
    rest = torch.relu(p - torch.cat([q, torch.zeros_like(p[:1])]))[kept]
    return kept, rest / rest.sum()


def in_parallel__wrong_elu(query, key, value):
    """Adds 1 to elu, which is rounded to 0 far below 0, and then 0 is divided by 0."""
    q, k = F.elu(query) + 1, F.elu(key) + 1
    weights = (q @ k.mT).tril()
    return weights @ value / weights.sum(dim=-1, keepdim=True)


def in_parallel__wrong_future(query, key, value):
    """Sums over all keys, also those that come later."""
    q, k = _features(query), _features(key)
    weights = torch.einsum("bid,bjd->bij", q, k)
    return weights @ value / weights.sum(dim=-1, keepdim=True)


def read_token__wrong_in_place(total, normaliser, query, key, value):
    """Adds the token to the state that came."""
    q, k = _features(query), _features(key)
    total += torch.einsum("bk,bv->bkv", k, value)
    normaliser += k
    output = torch.einsum("bk,bkv->bv", q, total) / torch.einsum("bk,bk->b", q, normaliser)[:, None]
    return output, total, normaliser


def read_token__wrong_small_number(total, normaliser, query, key, value):
    """Adds 1e-6 to the denominator, which is more than the denominator where entries are far below 0."""
    q, k = _features(query), _features(key)
    total = total + k[:, :, None] * value[:, None, :]
    normaliser = normaliser + k
    output = (q[:, :, None] * total).sum(dim=1) / ((q * normaliser).sum(dim=1, keepdim=True) + 1e-6)
    return output, total, normaliser


def read_token__right_batched_products(total, normaliser, query, key, value):
    """Right: by batched matrix products."""
    k = torch.where(key > 0, key + 1, key.clamp(max=0).exp())
    q = torch.where(query > 0, query + 1, query.clamp(max=0).exp())
    total = torch.baddbmm(total, k.unsqueeze(2), value.unsqueeze(1))
    normaliser = normaliser + k
    bottom = torch.bmm(q.unsqueeze(1), normaliser.unsqueeze(2))
    return (torch.bmm(q.unsqueeze(1), total) / bottom).squeeze(1), total, normaliser


def token_by_token__wrong_same_state(query, key, value):
    """Does not hand the state on, so every token begins with zeros."""
    batch, time, d_key = key.shape
    total = torch.zeros(batch, d_key, value.shape[-1])
    normaliser = torch.zeros(batch, d_key)
    outputs = []
    for t in range(time):
        output, _, _ = _read(total, normaliser, query[:, t], key[:, t], value[:, t])
        outputs.append(output)
    return torch.stack(outputs, dim=1)


def most_frequent_pair__wrong_first_seen(tokens):
    """Of equally frequent pairs it takes the one that comes first in the text."""
    tokens = tokens.tolist()
    pair, count = Counter(zip(tokens, tokens[1:])).most_common(1)[0]
    return torch.tensor(pair), torch.tensor(count)


def most_frequent_pair__wrong_bytes_only(tokens):
    """Makes one number of a pair by 256 times the first, which mixes pairs up where tokens are 256 or more."""
    numbers, counts = (tokens[:-1] * 256 + tokens[1:]).unique(return_counts=True)
    best = counts.argmax()
    return torch.stack([numbers[best] // 256, numbers[best] % 256]), counts[best]


def most_frequent_pair__wrong_no_overlap(tokens):
    """Counts pairs that overlap only once."""
    tokens = tokens.tolist()
    counts, last = Counter(), {}
    for i, pair in enumerate(zip(tokens, tokens[1:])):
        if last.get(pair) == i - 1:
            continue
        last[pair] = i
        counts[pair] += 1
    pair = min(counts, key=lambda pair: (-counts[pair], pair))
    return torch.tensor(pair), torch.tensor(counts[pair])


def merge_pair__wrong_text_of_numbers(tokens, pair, new):
    """Replaces in a text of the numbers, where 3 3 also stands in 13 3."""
    text = " ".join(str(t) for t in tokens.tolist())
    a, b = pair.tolist()
    text = text.replace(f"{a} {b}", str(new))
    return torch.tensor([int(t) for t in text.split()])


def merge_pair__wrong_used_twice(tokens, pair, new):
    """Uses the last token of a merged pair once more in a run of equal tokens."""
    old = tokens.tolist()
    a, b = pair.tolist()
    starts = [i for i in range(len(old) - 1) if old[i] == a and old[i + 1] == b]
    seconds = {i + 1 for i in starts}
    out = []
    for i, token in enumerate(old):
        if i in starts:
            out.append(new)
        elif i not in seconds:
            out.append(token)
    return torch.tensor(out)


def merge_pair__right_letters(tokens, pair, new):
    """Right: one letter for each number, and str.replace, which goes from left to right."""
    numbers = sorted({*tokens.tolist(), *pair.tolist(), new})
    letter = {number: chr(i) for i, number in enumerate(numbers)}
    text = "".join(letter[t] for t in tokens.tolist())
    text = text.replace("".join(letter[t] for t in pair.tolist()), letter[new])
    return torch.tensor([numbers[ord(c)] for c in text])


def learn_merges__wrong_letters(text, merges):
    """Begins with the numbers of the letters instead of the bytes in UTF-8."""
    tokens = [ord(letter) for letter in text]
    learned = []
    for number in range(merges):
        pair, count = _most_frequent(tokens)
        if count < 2:
            break
        tokens = _merge(tokens, pair, 256 + number)
        learned.append(pair)
    return torch.tensor(learned)


def learn_merges__wrong_counted_once(text, merges):
    """Counts the pairs of the bytes once and returns the most frequent ones."""
    tokens = list(text.encode())
    counts = Counter(zip(tokens, tokens[1:]))
    ranked = sorted(counts, key=lambda pair: (-counts[pair], pair))
    return torch.tensor([pair for pair in ranked[:merges] if counts[pair] > 1])


def learn_merges__right_letters_in_place(text, merges):
    """Right: a string with one letter for each token, in which a pair is replaced by a letter of its own."""
    letters = text.encode().decode("latin-1")
    learned = []
    for new in range(256, 256 + merges):
        pairs = [letters[i : i + 2] for i in range(len(letters) - 1)]
        best = min(set(pairs), key=lambda pair: (-pairs.count(pair), pair))
        if pairs.count(best) < 2:
            break
        letters = letters.replace(best, chr(new))
        learned.append([ord(best[0]), ord(best[1])])
    return torch.tensor(learned, dtype=torch.long).reshape(-1, 2)


def bits_per_byte__wrong_letters(losses, text):
    """Divides by the number of letters instead of bytes."""
    return losses.sum() / math.log(2) / len(text)


def bits_per_byte__wrong_mean(losses, text):
    """Returns the bits per token, the mean of the losses."""
    return losses.mean() / math.log(2)
