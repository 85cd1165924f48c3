# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import torch
import torch.nn.functional as F
from einops import einsum, rearrange

# ---------------------------------------------------------------- gru_step


def gru_step__wrong_update_gate_reversed(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The update gate is on the wrong term, as in Cho's paper: here a gate of 1 has to keep the old state."""
    a = inputs @ weight_ih.T + bias_ih
    e = hidden @ weight_hh.T + bias_hh
    a_r, a_f, a_c = a.chunk(3, dim=-1)
    e_r, e_f, e_c = e.chunk(3, dim=-1)
    r = torch.sigmoid(a_r + e_r)
    f = torch.sigmoid(a_f + e_f)
    candidate = torch.tanh(a_c + r * e_c)
    return (1 - f) * hidden + f * candidate


def gru_step__wrong_reset_before_product(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Multiplies the state by the reset gate before the product with U (the original GRU), not the product after it."""
    d = hidden.shape[-1]
    gates = inputs @ weight_ih[: 2 * d].T + bias_ih[: 2 * d] + hidden @ weight_hh[: 2 * d].T + bias_hh[: 2 * d]
    r, f = torch.sigmoid(gates).chunk(2, dim=-1)
    candidate = torch.tanh(
        inputs @ weight_ih[2 * d :].T + bias_ih[2 * d :] + (r * hidden) @ weight_hh[2 * d :].T + bias_hh[2 * d :]
    )
    return f * hidden + (1 - f) * candidate


def gru_step__wrong_bias_outside_reset(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The state's bias of the candidate is added outside the reset gate, although the gate multiplies it too."""
    a = inputs @ weight_ih.T + bias_ih + bias_hh
    e = hidden @ weight_hh.T
    a_r, a_f, a_c = a.chunk(3, dim=-1)
    e_r, e_f, e_c = e.chunk(3, dim=-1)
    r = torch.sigmoid(a_r + e_r)
    f = torch.sigmoid(a_f + e_f)
    return f * hidden + (1 - f) * torch.tanh(a_c + r * e_c)


def gru_step__wrong_order_of_gates(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Takes the first block for the update gate and the second for the reset gate, which is Keras' order and not torch's."""
    a = inputs @ weight_ih.T + bias_ih
    e = hidden @ weight_hh.T + bias_hh
    a_f, a_r, a_c = a.chunk(3, dim=-1)
    e_f, e_r, e_c = e.chunk(3, dim=-1)
    r = torch.sigmoid(a_r + e_r)
    f = torch.sigmoid(a_f + e_f)
    return f * hidden + (1 - f) * torch.tanh(a_c + r * e_c)


def gru_step__wrong_state_in_place(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """mul_ and add_ overwrite the caller's state with the next one."""
    a_r, a_f, a_c = F.linear(inputs, weight_ih, bias_ih).chunk(3, dim=-1)
    e_r, e_f, e_c = F.linear(hidden, weight_hh, bias_hh).chunk(3, dim=-1)
    r, f = torch.sigmoid(a_r + e_r), torch.sigmoid(a_f + e_f)
    return hidden.mul_(f).add_((1 - f) * torch.tanh(a_c + r * e_c))


def gru_step__wrong_hard_sigmoid(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Uses the piecewise linear hard sigmoid, which agrees with the sigmoid at 0 and far out only."""
    a_r, a_f, a_c = F.linear(inputs, weight_ih, bias_ih).chunk(3, dim=-1)
    e_r, e_f, e_c = F.linear(hidden, weight_hh, bias_hh).chunk(3, dim=-1)
    r, f = F.hardsigmoid(a_r + e_r), F.hardsigmoid(a_f + e_f)
    return f * hidden + (1 - f) * torch.tanh(a_c + r * e_c)


def gru_step__wrong_gates_interleaved(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Reads the entries in turn, reset, update, candidate, reset, ..., but they come in three blocks, which is the same for a state of one entry only."""
    a = rearrange(inputs @ weight_ih.T + bias_ih, "b (d gate) -> gate b d", gate=3)
    e = rearrange(hidden @ weight_hh.T + bias_hh, "b (d gate) -> gate b d", gate=3)
    r = torch.sigmoid(a[0] + e[0])
    f = torch.sigmoid(a[1] + e[1])
    candidate = torch.tanh(a[2] + r * e[2])
    return f * hidden + (1 - f) * candidate


def gru_step__right_three_linear_maps(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Cuts the weights instead of the sums, and moves from the candidate towards the old state by lerp."""
    reset, update, cand = zip(weight_ih.chunk(3), bias_ih.chunk(3), weight_hh.chunk(3), bias_hh.chunk(3))

    def sums(block):
        w, b, u, b_u = block
        return F.linear(inputs, w, b), F.linear(hidden, u, b_u)

    r = torch.sigmoid(sum(sums(reset)))
    f = torch.sigmoid(sum(sums(update)))
    a_c, e_c = sums(cand)
    return torch.lerp(torch.tanh(a_c + r * e_c), hidden, f)


def gru_step__right_double_einsum(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """In double precision with an axis for the three gates, and the sigmoid from a tanh."""
    x, h = inputs.double(), hidden.double()
    w = rearrange(weight_ih.double(), "(gate d) i -> gate d i", gate=3)
    u = rearrange(weight_hh.double(), "(gate d) i -> gate d i", gate=3)
    a = einsum(w, x, "gate d i, b i -> gate b d") + rearrange(bias_ih.double(), "(gate d) -> gate 1 d", gate=3)
    e = einsum(u, h, "gate d i, b i -> gate b d") + rearrange(bias_hh.double(), "(gate d) -> gate 1 d", gate=3)
    r, f = (1 + torch.tanh((a[:2] + e[:2]) / 2)) / 2
    candidate = torch.tanh(a[2] + r * e[2])
    return (candidate + f * (h - candidate)).to(hidden.dtype)


# ---------------------------------------------------------------- lstm_step


def lstm_step__wrong_order_of_gates(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Takes the blocks as input, forget, output, candidate; torch has the candidate third and the output gate last."""
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, o, g = a.chunk(4, dim=-1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def lstm_step__wrong_returned_order(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Returns (memory, hidden) instead of (hidden, memory)."""
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=-1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    hidden = torch.sigmoid(o) * torch.tanh(memory)
    return memory, hidden


def lstm_step__wrong_no_tanh_on_memory(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The output gate multiplies the memory itself; its tanh is forgotten."""
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=-1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * memory, memory


def lstm_step__wrong_forget_bias_one(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Adds 1 to the forget gate, the old default of TensorFlow's cell, which is not in the formula."""
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=-1)
    memory = torch.sigmoid(f + 1.0) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def lstm_step__wrong_memory_in_place(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """*= and += change the caller's memory."""
    a = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    i, f, g, o = a.chunk(4, dim=-1)
    memory *= torch.sigmoid(f)
    memory += torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def lstm_step__wrong_old_memory_in_output(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The hidden state is computed from the memory before this step, not from the new one."""
    a = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    i, f, g, o = a.chunk(4, dim=-1)
    new_memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    new_hidden = torch.sigmoid(o) * torch.tanh(memory)
    return new_hidden, new_memory


def lstm_step__wrong_coupled_gates(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Uses 1 - f in the place of the input gate, the coupled variant of the LSTM."""
    a = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    _, f, g, o = a.chunk(4, dim=-1)
    f = torch.sigmoid(f)
    memory = f * memory + (1 - f) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def lstm_step__wrong_one_bias(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Leaves out the second bias, bias_hh, which is not always zero."""
    a = inputs @ weight_ih.T + hidden @ weight_hh.T + bias_ih
    i, f, g, o = a.chunk(4, dim=-1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def lstm_step__right_vmap(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The formulas for column vectors as they are printed, mapped over the batch."""

    def one(x, h, m):
        a = weight_ih.mv(x) + bias_ih + weight_hh.mv(h) + bias_hh
        i, f, g, o = a.reshape(4, -1).unbind(0)
        m = f.sigmoid() * m + i.sigmoid() * g.tanh()
        return o.sigmoid() * m.tanh(), m

    return torch.vmap(one)(inputs, hidden, memory)


def lstm_step__right_one_big_matrix(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Joins input, state and two ones to one vector and the weights to one matrix, in double precision."""
    ones = inputs.new_ones(inputs.shape[0], 2)
    row = torch.cat([inputs, hidden, ones], dim=1).double()
    matrix = torch.cat([weight_ih, weight_hh, bias_ih[:, None], bias_hh[:, None]], dim=1).double()
    a = torch.einsum("bi,oi->bo", row, matrix)
    d = hidden.shape[1]
    gate = 1 / (1 + torch.exp(-a))
    m = torch.addcmul(gate[:, d : 2 * d] * memory.double(), gate[:, :d], torch.tanh(a[:, 2 * d : 3 * d]))
    h = gate[:, 3 * d :] * torch.tanh(m)
    return h.to(hidden.dtype), m.to(memory.dtype)


# ---------------------------------------------------------------- context_vector


def context_vector__wrong_softmax_over_batch(states, scores):
    """The softmax runs over the batch, so sentences compete with each other instead of states."""
    weights = torch.softmax(scores, dim=0)
    return einsum(weights, states, "b n, b n d -> b d")


def context_vector__wrong_overflow(states, scores):
    """The exponentials of the bare scores overflow for large scores and give nan."""
    weights = torch.exp(scores)
    weights = weights / weights.sum(dim=1, keepdim=True)
    return einsum(weights, states, "b n, b n d -> b d")


def context_vector__wrong_scaled(states, scores):
    """Divides the scores by the root of the width, which flattens the weights and was not asked for."""
    weights = torch.softmax(scores / math.sqrt(states.shape[-1]), dim=-1)
    return einsum(weights, states, "b n, b n d -> b d")


def context_vector__wrong_mean(states, scores):
    """Takes the mean of the weighted states instead of their sum, so the context is n times too small."""
    weights = torch.softmax(scores, dim=-1)
    return (weights.unsqueeze(-1) * states).mean(dim=1)


def context_vector__wrong_first_weights_for_all(states, scores):
    """A matrix of weights times a batch of states pairs every sentence with every weight row, and [:, 0] keeps the weights of sentence 0 for all."""
    weights = torch.softmax(scores, dim=-1)
    return (weights @ states)[:, 0]


def context_vector__wrong_squeeze(states, scores):
    """squeeze() without an axis also removes a batch or a width of one."""
    weights = torch.softmax(scores, dim=-1)
    return torch.bmm(weights.unsqueeze(1), states).squeeze()


def context_vector__wrong_clamped_scores(states, scores):
    """Clamping the scores to be safe changes the weights as soon as scores lie beyond the bounds, so a constant added to all is no longer harmless."""
    weights = torch.exp(scores.clamp(-30, 30))
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return einsum(weights, states, "b n, b n d -> b d")


def context_vector__wrong_hard(states, scores):
    """Takes the state with the largest score alone instead of the weighted average."""
    best = scores.argmax(dim=1)
    return states[torch.arange(states.shape[0]), best]


def context_vector__right_borrowed_attention(states, scores):
    """torch's own attention with queries and keys of zero: the scores come in as the additive mask."""
    nothing = torch.zeros_like(states)
    out = F.scaled_dot_product_attention(nothing[:, :1], nothing, states, attn_mask=scores[:, None, :])
    return out[:, 0]


def context_vector__right_running(states, scores):
    """One pass over the states with a running maximum, a running sum of weights and a running context."""
    top = scores[:, 0]
    total = torch.ones_like(top)
    context = states[:, 0]
    for i in range(1, states.shape[1]):
        new_top = torch.maximum(top, scores[:, i])
        old, new = torch.exp(top - new_top), torch.exp(scores[:, i] - new_top)
        total = total * old + new
        context = context * old[:, None] + states[:, i] * new[:, None]
        top = new_top
    return context / total[:, None]


# ---------------------------------------------------------------- teacher_inputs

_START_COLUMNS = {}


def teacher_inputs__wrong_roll(targets, start):
    """roll brings the last target to the front, where the start token belongs."""
    return torch.roll(targets, 1, dims=1)


def teacher_inputs__wrong_shifted_left(targets, start):
    """Shifts the other way: each step reads the target of the step after it, and the start token stands last."""
    column = torch.full_like(targets[:, :1], start)
    return torch.cat([targets[:, 1:], column], dim=1)


def teacher_inputs__wrong_in_place(targets, start):
    """Shifts the caller's own targets, so that the loss would be computed with the shifted words."""
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets


def teacher_inputs__wrong_smeared(targets, start):
    """The loop copies from the row it is writing, so the start token is carried to every step."""
    inputs = targets.clone()
    inputs[:, 0] = start
    for t in range(1, inputs.shape[1]):
        inputs[:, t] = inputs[:, t - 1]
    return inputs


def teacher_inputs__wrong_one_too_long(targets, start):
    """Puts the start token in front but does not drop the last target, so there are n + 1 inputs."""
    column = targets.new_full((targets.shape[0], 1), start)
    return torch.cat([column, targets], dim=1)


def teacher_inputs__wrong_start_is_zero(targets, start):
    """Pads with the default value 0 and never looks at the start token."""
    return F.pad(targets[:, :-1], (1, 0))


def teacher_inputs__wrong_zeros_replaced(targets, start):
    """Pads with zeros and then replaces every zero by the start token, also where word 0 is a real target."""
    inputs = F.pad(targets, (1, 0))[:, :-1]
    return torch.where(inputs == 0, torch.full_like(inputs, start), inputs)


def teacher_inputs__wrong_cached_start(targets, start):
    """The column of start tokens is kept for each batch size, so a later call with another start token gets the old one."""
    batch = targets.shape[0]
    if batch not in _START_COLUMNS:
        _START_COLUMNS[batch] = targets.new_full((batch, 1), start)
    return torch.cat([_START_COLUMNS[batch], targets[:, :-1]], dim=1)


def teacher_inputs__wrong_first_sentence_only(targets, start):
    """Sets the start token in the first sentence only; the others begin with their own last word."""
    inputs = targets.roll(1, dims=1)
    inputs[0, 0] = start
    return inputs


def teacher_inputs__right_flat_roll(targets, start):
    """Rolls the flattened batch by one: what leaks from one sentence to the next lands exactly where start is written."""
    inputs = targets.roll(1)
    inputs[:, 0] = start
    return inputs


def teacher_inputs__right_lists(targets, start):
    """Plain Python lists."""
    rows = [[int(start)] + row[:-1] for row in targets.tolist()]
    return torch.tensor(rows, dtype=targets.dtype)


# ---------------------------------------------------------------- teacher_forcing_loss


def teacher_forcing_loss__wrong_mean(logits, targets):
    """Takes the mean over the steps instead of the sum."""
    loss = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return loss.mean(dim=1)


def teacher_forcing_loss__wrong_log_of_softmax(logits, targets):
    """The softmax first and then the logarithm: a probability that underflows to 0 gives an infinite loss."""
    p = torch.softmax(logits, dim=-1)
    picked = p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -torch.log(picked).sum(dim=-1)


def teacher_forcing_loss__wrong_epsilon(logits, targets):
    """The 1e-9 keeps the logarithm finite but caps the loss of a step at 20.7."""
    p = torch.softmax(logits, dim=-1)
    picked = p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -torch.log(picked + 1e-9).sum(dim=-1)


def teacher_forcing_loss__wrong_word_zero_ignored(logits, targets):
    """ignore_index=0 takes word 0 for padding, but here it is a word like any other."""
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0, reduction="none")
    return loss.view(targets.shape).sum(dim=1)


def teacher_forcing_loss__wrong_reshaped_logits(logits, targets):
    """cross_entropy wants the vocabulary on axis 1, but reshape does not move it there, it scrambles the logits."""
    b, n, v = logits.shape
    return F.cross_entropy(logits.reshape(b, v, n), targets, reduction="none").sum(dim=1)


def teacher_forcing_loss__wrong_label_smoothing(logits, targets):
    """Label smoothing of 0.1, as in the Transformer paper, is another loss."""
    loss = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none", label_smoothing=0.1)
    return loss.sum(dim=1)


def teacher_forcing_loss__wrong_truncated_gradient(logits, targets):
    """The running total is detached at each step, so only the last step has a gradient."""
    total = torch.zeros(logits.shape[0], dtype=logits.dtype)
    for t in range(logits.shape[1]):
        step = F.cross_entropy(logits[:, t], targets[:, t], reduction="none")
        total = total.detach() + step
    return total


def teacher_forcing_loss__wrong_shifted(logits, targets):
    """Shifts logits and targets against each other as for a language model, but here step t already predicts target t."""
    logp = torch.log_softmax(logits[:, :-1], dim=-1)
    picked = logp.gather(-1, targets[:, 1:].unsqueeze(-1)).squeeze(-1)
    return -picked.sum(dim=-1)


def teacher_forcing_loss__wrong_sum_over_batch(logits, targets):
    """reduction='sum' adds the sentences together as well: one number instead of one for each sentence."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum").reshape(1)


def teacher_forcing_loss__wrong_log_softmax_over_steps(logits, targets):
    """The softmax is taken over the steps (dim=1) instead of over the vocabulary."""
    logp = torch.log_softmax(logits, dim=1)
    return -logp.gather(-1, targets.unsqueeze(-1)).squeeze(-1).sum(dim=-1)


def teacher_forcing_loss__right_categorical(logits, targets):
    """The distribution of torch.distributions computes the logarithms."""
    return -torch.distributions.Categorical(logits=logits).log_prob(targets).sum(dim=-1)


def teacher_forcing_loss__right_differences(logits, targets):
    """The loss of a step is logsumexp of the logits less the target's logit; loops over sentences and steps."""
    losses = []
    for u, y in zip(logits, targets):
        steps = [torch.logsumexp(u[t] - u[t, y[t]], dim=0) for t in range(len(y))]
        losses.append(torch.stack(steps).sum())
    return torch.stack(losses)


# ---------------------------------------------------------------- gradient_reach


def _states(inputs, weight_ih, weight_hh):
    """All states h_0 ... h_n of the network, as a list."""
    states = [torch.zeros(weight_hh.shape[0], dtype=inputs.dtype)]
    for x in inputs:
        states.append(torch.tanh(weight_ih @ x + weight_hh @ states[-1]))
    return states


def gradient_reach__wrong_sum_of_all_states(inputs, weight_ih, weight_hh):
    """Differentiates the sum over all states, not the sum of the entries of the last one."""
    x = inputs.clone().detach().requires_grad_()
    r = sum(h.sum() for h in _states(x, weight_ih, weight_hh)[1:])
    return torch.autograd.grad(r, x)[0].norm(dim=-1)


def gradient_reach__wrong_no_slope(inputs, weight_ih, weight_hh):
    """Forgets the slope of the tanh, so the answer is right only where all states are zero."""
    back = torch.ones(weight_hh.shape[0], dtype=inputs.dtype)
    norms = []
    for _ in range(inputs.shape[0]):
        norms.append((back @ weight_ih).norm())
        back = back @ weight_hh
    return torch.stack(norms[::-1])


def gradient_reach__wrong_no_root(inputs, weight_ih, weight_hh):
    """The sum of the squares without the root."""
    x = inputs.clone().detach().requires_grad_()
    _states(x, weight_ih, weight_hh)[-1].sum().backward()
    return (x.grad**2).sum(dim=-1)


def gradient_reach__wrong_last_step_first(inputs, weight_ih, weight_hh):
    """The list is collected from the end and never turned round, so the last step comes first."""
    states = _states(inputs, weight_ih, weight_hh)
    back = torch.ones(weight_hh.shape[0], dtype=inputs.dtype)
    norms = []
    for h in states[:0:-1]:
        back = back * (1 - h**2)
        norms.append((back @ weight_ih).norm())
        back = back @ weight_hh
    return torch.stack(norms)


def gradient_reach__wrong_gradient_accumulates(inputs, weight_ih, weight_hh):
    """backward adds to the .grad of the caller's tensor and nobody clears it: a second call with the same inputs gives twice the norms."""
    inputs.requires_grad_()
    _states(inputs, weight_ih, weight_hh)[-1].sum().backward()
    return inputs.grad.norm(dim=-1)


def gradient_reach__wrong_transpose(inputs, weight_ih, weight_hh):
    """Goes back through U instead of its transpose, which is the same for a symmetric U only."""
    states = _states(inputs, weight_ih, weight_hh)
    back = torch.ones(weight_hh.shape[0], dtype=inputs.dtype)
    norms = []
    for h in reversed(states[1:]):
        back = back * (1 - h**2)
        norms.insert(0, (weight_ih.T @ back).norm())
        back = weight_hh @ back
    return torch.stack(norms)


def gradient_reach__wrong_jacobian_norm(inputs, weight_ih, weight_hh):
    """The norm of the whole Jacobian of the last state instead of the gradient of its sum, which agrees for a state of one entry."""
    jacobian = torch.func.jacrev(lambda x: _states(x, weight_ih, weight_hh)[-1])(inputs)
    return jacobian.pow(2).sum(dim=(0, 2)).sqrt()


def gradient_reach__wrong_slope_one_step_late(inputs, weight_ih, weight_hh):
    """Takes the slope of the tanh at the state before the step instead of the state after it."""
    states = _states(inputs, weight_ih, weight_hh)
    back = torch.ones(weight_hh.shape[0], dtype=inputs.dtype)
    norms = []
    for t in range(inputs.shape[0], 0, -1):
        back = back * (1 - states[t - 1] ** 2)
        norms.insert(0, (back @ weight_ih).norm())
        back = back @ weight_hh
    return torch.stack(norms)


def gradient_reach__wrong_by_state(inputs, weight_ih, weight_hh):
    """The gradient with respect to the sum inside the tanh; the last factor, the input weight, is missing."""
    states = _states(inputs, weight_ih, weight_hh)
    back = torch.ones(weight_hh.shape[0], dtype=inputs.dtype)
    norms = []
    for h in reversed(states[1:]):
        back = back * (1 - h**2)
        norms.insert(0, back.norm())
        back = back @ weight_hh
    return torch.stack(norms)


def gradient_reach__right_functional_grad(inputs, weight_ih, weight_hh):
    """torch.func.grad of a recursive function."""

    def state(x, t):
        if t == 0:
            return x.new_zeros(weight_hh.shape[0])
        return torch.tanh(weight_ih @ x[t - 1] + weight_hh @ state(x, t - 1))

    gradient = torch.func.grad(lambda x: state(x, x.shape[0]).sum())(inputs)
    return torch.linalg.vector_norm(gradient, dim=1)


def gradient_reach__right_forward_jacobians(inputs, weight_ih, weight_hh):
    """Forward mode by hand, in double precision: carries the Jacobian of the state by every input along the sequence."""
    x, w, u = inputs.detach().double(), weight_ih.detach().double(), weight_hh.detach().double()
    n, d = x.shape
    h = torch.zeros(u.shape[0], dtype=torch.float64)
    jacobian = torch.zeros(u.shape[0], n, d, dtype=torch.float64)
    for t in range(n):
        jacobian = torch.einsum("ij,jtd->itd", u, jacobian)
        jacobian[:, t] += w
        h = torch.tanh(w @ x[t] + u @ h)
        jacobian = (1 - h * h)[:, None, None] * jacobian
    return torch.sqrt((jacobian.sum(dim=0) ** 2).sum(dim=-1)).to(inputs.dtype)
