# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import torch
from torch.func import grad, vmap
from torch.nn import functional as F

# ---------------------------------------------------------------- gru_step


def gru_step__wrong_mixture_swapped(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The update gate has to keep the old state; you give f to the candidate and 1 - f to the old state."""
    a = inputs @ weight_ih.T + bias_ih
    e = hidden @ weight_hh.T + bias_hh
    ar, au, ac = a.chunk(3, dim=-1)
    er, eu, ec = e.chunk(3, dim=-1)
    r = torch.sigmoid(ar + er)
    f = torch.sigmoid(au + eu)
    cand = torch.tanh(ac + r * ec)
    return (1 - f) * hidden + f * cand


def gru_step__wrong_bias_outside_reset(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The reset gate has to multiply the bias of the state too; here the bias is added after the gate."""
    a = inputs @ weight_ih.T + bias_ih
    e = hidden @ weight_hh.T
    d = hidden.shape[1]
    r = torch.sigmoid(a[:, :d] + e[:, :d] + bias_hh[:d])
    f = torch.sigmoid(a[:, d : 2 * d] + e[:, d : 2 * d] + bias_hh[d : 2 * d])
    n = torch.tanh(a[:, 2 * d :] + r * e[:, 2 * d :] + bias_hh[2 * d :])
    return f * hidden + (1 - f) * n


def gru_step__wrong_update_block_first(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The order of the blocks is reset, update, candidate; you took the update gate first."""
    a = F.linear(inputs, weight_ih, bias_ih).chunk(3, -1)
    e = F.linear(hidden, weight_hh, bias_hh).chunk(3, -1)
    f = (a[0] + e[0]).sigmoid()
    r = (a[1] + e[1]).sigmoid()
    n = (a[2] + r * e[2]).tanh()
    return f * hidden + (1 - f) * n


def gru_step__wrong_reset_before_product(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """You multiply the state by the reset gate before the matrix; in this convention the gate multiplies the product."""
    d = hidden.shape[-1]
    W, U = weight_ih.split(d), weight_hh.split(d)
    b, c = bias_ih.split(d), bias_hh.split(d)
    r = torch.sigmoid(inputs @ W[0].T + b[0] + hidden @ U[0].T + c[0])
    f = torch.sigmoid(inputs @ W[1].T + b[1] + hidden @ U[1].T + c[1])
    n = torch.tanh(inputs @ W[2].T + b[2] + (r * hidden) @ U[2].T + c[2])
    return f * hidden + (1 - f) * n


def gru_step__right_by_loop_over_units(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    d = hidden.shape[1]
    columns = []
    for k in range(d):
        a = [inputs @ weight_ih[k + g * d] + bias_ih[k + g * d] for g in range(3)]
        e = [hidden @ weight_hh[k + g * d] + bias_hh[k + g * d] for g in range(3)]
        reset = torch.sigmoid(a[0] + e[0])
        update = torch.sigmoid(a[1] + e[1])
        candidate = torch.tanh(torch.addcmul(a[2], reset, e[2]))
        columns.append(candidate + update * (hidden[:, k] - candidate))
    return torch.stack(columns, dim=1)


# ---------------------------------------------------------------- lstm_step


def lstm_step__wrong_outputs_swapped(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """You return (memory, hidden), the statement asks for (hidden, memory)."""
    gates = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = gates.chunk(4, dim=-1)
    memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    hidden = o.sigmoid() * memory.tanh()
    return memory, hidden


def lstm_step__wrong_old_memory_in_output(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The hidden state must be computed from the new memory, you use the old one."""
    a = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    i, f, g, o = a.chunk(4, dim=1)
    new = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), new


def lstm_step__wrong_no_tanh_of_memory(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The tanh of the new memory is missing in the hidden state."""
    d = memory.shape[1]
    a = inputs @ weight_ih.T + hidden @ weight_hh.T + bias_ih + bias_hh
    i = torch.sigmoid(a[:, 0:d])
    f = torch.sigmoid(a[:, d : 2 * d])
    g = torch.tanh(a[:, 2 * d : 3 * d])
    o = torch.sigmoid(a[:, 3 * d :])
    m = f * memory + i * g
    return o * m, m


def lstm_step__wrong_gates_order_ifog(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The third block is the candidate and the fourth the output gate; you have them the other way round."""
    i, f, o, g = (inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh).chunk(4, -1)
    m = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return o.sigmoid() * m.tanh(), m


def lstm_step__wrong_memory_in_place(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """memory *= and += overwrite the memory of the caller."""
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, -1)
    memory *= f.sigmoid()
    memory += i.sigmoid() * g.tanh()
    return o.sigmoid() * memory.tanh(), memory


def lstm_step__right_by_vmap_over_examples(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    weight = torch.cat([weight_ih, weight_hh], dim=1)

    def one(x, h, m):
        a = torch.mv(weight, torch.cat([x, h])) + bias_ih + bias_hh
        blocks = a.view(4, -1)
        gates = (1 + torch.tanh(blocks / 2)) / 2
        new = gates[1] * m + gates[0] * torch.tanh(blocks[2])
        return gates[3] * torch.tanh(new), new

    return vmap(one)(inputs, hidden, memory)


# ---------------------------------------------------------------- context_vector


def context_vector__wrong_softmax_over_batch(states, scores):
    """softmax(dim=0) normalizes over the sentences; the weights of one sentence lie along axis 1."""
    w = torch.softmax(scores, dim=0)
    return (w[:, :, None] * states).sum(1)


def context_vector__wrong_mean_of_weighted(states, scores):
    """The weights already sum to one, so sum the weighted states; the mean divides by n once more."""
    w = scores.softmax(dim=1).unsqueeze(-1)
    return (w * states).mean(dim=1)


def context_vector__wrong_scores_not_softmaxed(states, scores):
    """The softmax is missing: you divide the scores by their sum."""
    w = scores / scores.sum(dim=1, keepdim=True)
    return torch.einsum("bn,bnd->bd", w, states)


def context_vector__wrong_bare_squeeze(states, scores):
    """squeeze() without an axis also removes the batch (or the features) when it is of size one."""
    w = scores.softmax(1)
    return torch.bmm(w[:, None, :], states).squeeze()


def context_vector__wrong_unstable_exp(states, scores):
    """exp of a score of a thousand is inf and the result nan; use softmax or subtract the maximum."""
    e = torch.exp(scores)
    w = e / e.sum(dim=1, keepdim=True)
    return (w[..., None] * states).sum(dim=1)


def context_vector__right_by_running_average(states, scores):
    top = scores[:, 0]
    total = torch.ones_like(top)
    context = states[:, 0].clone()
    for i in range(1, states.shape[1]):
        new_top = torch.maximum(top, scores[:, i])
        old, new = torch.exp(top - new_top), torch.exp(scores[:, i] - new_top)
        total = total * old + new
        context = context + (new / total)[:, None] * (states[:, i] - context)
        top = new_top
    return context


# ---------------------------------------------------------------- teacher_inputs


def teacher_inputs__wrong_roll(targets, start):
    """After roll the start belongs in front; you write it over the last word, and the first step reads the last target."""
    out = targets.roll(1, dims=1)
    out[:, -1] = start
    return out


def teacher_inputs__wrong_keeps_last(targets, start):
    """The last target has to be left out; you return n + 1 words."""
    column = torch.full_like(targets[:, :1], start)
    return torch.cat([column, targets], dim=1)


def teacher_inputs__wrong_overwrites_first(targets, start):
    """Only the first word is replaced and nothing is shifted, so every later step reads its own target."""
    x = targets.clone()
    x[:, 0] = start
    return x


def teacher_inputs__wrong_shift_left(targets, start):
    """You shift in the wrong direction: each step reads the next target, and start comes last."""
    column = torch.full_like(targets[:, :1], start)
    return torch.cat([targets[:, 1:], column], dim=1)


def teacher_inputs__wrong_in_place_shift(targets, start):
    """You write the shifted words into the tensor of the caller."""
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets


def teacher_inputs__wrong_float(targets, start):
    """torch.zeros makes floats; the answer has to be integers like the targets."""
    x = torch.zeros(targets.shape)
    x[:, 0] = start
    x[:, 1:] = targets[:, :-1]
    return x


def teacher_inputs__right_by_lists(targets, start):
    rows = [[start, *row[:-1]] for row in targets.tolist()]
    return torch.tensor(rows, dtype=targets.dtype)


# ---------------------------------------------------------------- teacher_forcing_loss


def teacher_forcing_loss__wrong_mean_over_steps(logits, targets):
    """The loss is summed over the steps; you took the mean."""
    lp = logits.log_softmax(-1)
    return -lp.gather(2, targets[..., None]).squeeze(2).mean(dim=1)


def teacher_forcing_loss__wrong_softmax_over_time(logits, targets):
    """The softmax has to run over the vocabulary (dim 2), not over the steps (dim 1)."""
    lp = torch.log_softmax(logits, dim=1)
    return -lp.gather(2, targets.unsqueeze(-1)).sum(dim=(1, 2))


def teacher_forcing_loss__wrong_log_of_softmax(logits, targets):
    """log(softmax) gives -inf where a logit is a thousand below the others; use log_softmax."""
    p = logits.softmax(dim=2)
    picked = p.gather(2, targets[:, :, None])[:, :, 0]
    return -picked.log().sum(1)


def teacher_forcing_loss__wrong_one_number(logits, targets):
    """You give one number for the whole batch; one loss for each sentence is asked."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")


def teacher_forcing_loss__wrong_item_in_loop(logits, targets):
    """.item() makes plain numbers, so no gradient reaches the logits."""
    losses = []
    lp = logits.log_softmax(dim=2)
    for b in range(logits.shape[0]):
        total = 0.0
        for t in range(logits.shape[1]):
            total = total - lp[b, t, targets[b, t]].item()
        losses.append(total)
    return torch.tensor(losses)


def teacher_forcing_loss__wrong_reshaped_for_cross_entropy(logits, targets):
    """reshape does not bring the vocabulary to axis 1, it mixes the steps with the words; use transpose(1, 2)."""
    b, n, v = logits.shape
    return F.cross_entropy(logits.reshape(b, v, n), targets, reduction="none").sum(1)


def teacher_forcing_loss__right_by_margins(logits, targets):
    losses = []
    for sentence, words in zip(logits, targets):
        loss = sentence.new_zeros(())
        for u, y in zip(sentence, words):
            loss = loss + torch.logsumexp(u - u[y], dim=0)
        losses.append(loss)
    return torch.stack(losses)


# ---------------------------------------------------------------- gradient_reach


def _states(inputs, weight_ih, weight_hh):
    h = torch.zeros(weight_hh.shape[0], dtype=inputs.dtype)
    states = []
    for x in inputs:
        h = torch.tanh(weight_ih @ x + weight_hh @ h)
        states.append(h)
    return states


def gradient_reach__wrong_sum_of_all_states(inputs, weight_ih, weight_hh):
    """The gradient is asked of the last state alone, you sum the entries of all states."""
    x = inputs.detach().clone().requires_grad_()
    total = sum(h.sum() for h in _states(x, weight_ih, weight_hh))
    (g,) = torch.autograd.grad(total, x)
    return g.norm(dim=1)


def gradient_reach__wrong_norm_over_time(inputs, weight_ih, weight_hh):
    """dim=0 is the time; the norm has to be taken over the entries of each input."""
    x = inputs.clone().requires_grad_()
    g = torch.autograd.grad(_states(x, weight_ih, weight_hh)[-1].sum(), x)[0]
    return g.norm(dim=0)


def gradient_reach__wrong_last_step_first(inputs, weight_ih, weight_hh):
    """You went back through the time and forgot to turn the list round: the first step must come first."""
    states = _states(inputs, weight_ih, weight_hh)
    g = torch.ones(weight_hh.shape[0])
    norms = []
    for h in reversed(states):
        g = g * (1 - h**2)
        norms.append((weight_ih.T @ g).norm())
        g = weight_hh.T @ g
    return torch.stack(norms)


def gradient_reach__wrong_not_transposed(inputs, weight_ih, weight_hh):
    """On the way back the transposed recurrent matrix is needed; yours is right only for a symmetric U."""
    states = _states(inputs, weight_ih, weight_hh)
    g = torch.ones(weight_hh.shape[0])
    norms = [None] * len(states)
    for t in range(len(states) - 1, -1, -1):
        g = g * (1 - states[t] ** 2)
        norms[t] = torch.linalg.norm(g @ weight_ih)
        g = weight_hh @ g
    return torch.stack(norms)


def gradient_reach__wrong_forgets_slope(inputs, weight_ih, weight_hh):
    """The slope 1 - h^2 of the tanh is missing; right only where the states are zero."""
    n = inputs.shape[0]
    g = torch.ones(weight_hh.shape[0])
    norms = []
    for _ in range(n):
        norms.insert(0, (g @ weight_ih).norm())
        g = g @ weight_hh
    return torch.stack(norms)


def gradient_reach__wrong_detached_state(inputs, weight_ih, weight_hh):
    """detach() cuts the graph at each step, so only the last input gets a gradient and the others zero."""
    x = inputs.clone().requires_grad_()
    h = torch.zeros(weight_hh.shape[0])
    for row in x:
        h = torch.tanh(weight_ih @ row + weight_hh @ h.detach())
    h.sum().backward()
    return x.grad.norm(dim=1)


def gradient_reach__right_by_func_grad(inputs, weight_ih, weight_hh):
    def last(rows):
        return _last(rows, weight_ih, weight_hh).sum()

    return torch.linalg.vector_norm(grad(last)(inputs), dim=1)


def _last(rows, weight_ih, weight_hh):
    if rows.shape[0] == 0:
        return weight_hh.new_zeros(weight_hh.shape[0])
    before = _last(rows[:-1], weight_ih, weight_hh)
    return torch.tanh(weight_ih @ rows[-1] + weight_hh @ before)


def gradient_reach__right_by_products_of_jacobians(inputs, weight_ih, weight_hh):
    W, U = weight_ih.detach().double(), weight_hh.detach().double()
    h = torch.zeros(U.shape[0], dtype=torch.float64)
    jacobians = []
    for x in inputs.detach().double():
        h = (W @ x + U @ h).tanh()
        step = torch.diag(1 - h * h)
        jacobians = [step @ U @ J for J in jacobians] + [step @ W]
    return torch.stack([J.sum(0).pow(2).sum().sqrt() for J in jacobians]).to(inputs.dtype)
