# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
import torch.nn.functional as F
from einops import rearrange


def gru_step__wrong_interleaved_blocks(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The three blocks are taken as every third entry and not as three consecutive blocks, which shows only where d_hidden is above 1."""
    a = inputs @ weight_ih.T + bias_ih
    e = hidden @ weight_hh.T + bias_hh
    a_r, a_f, a_c = rearrange(a, "b (h three) -> three b h", three=3)
    e_r, e_f, e_c = rearrange(e, "b (h three) -> three b h", three=3)
    r = torch.sigmoid(a_r + e_r)
    f = torch.sigmoid(a_f + e_f)
    cand = torch.tanh(a_c + r * e_c)
    return f * hidden + (1 - f) * cand


def gru_step__wrong_reset_before_matrix(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The reset gate multiplies the state before the matrix (and then the bias), as in the first paper; with a width above 1 that is not r times the product."""
    d = hidden.shape[1]
    a = inputs @ weight_ih.T + bias_ih
    gates = torch.sigmoid(a[:, : 2 * d] + hidden @ weight_hh[: 2 * d].T + bias_hh[: 2 * d])
    r, f = gates[:, :d], gates[:, d:]
    cand = torch.tanh(a[:, 2 * d :] + (r * hidden) @ weight_hh[2 * d :].T + r * bias_hh[2 * d :])
    return f * hidden + (1 - f) * cand


def gru_step__right_lerp_and_tanh(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Gates through the half-angle tanh, blocks by slicing the weights, the mix by torch.lerp."""
    d = hidden.shape[1]

    def part(k):
        rows = slice(k * d, (k + 1) * d)
        return (
            F.linear(inputs, weight_ih[rows], bias_ih[rows]),
            F.linear(hidden, weight_hh[rows], bias_hh[rows]),
        )

    r = (1 + torch.tanh(sum(part(0)) / 2)) / 2
    f = (1 + torch.tanh(sum(part(1)) / 2)) / 2
    from_input, from_state = part(2)
    cand = torch.tanh(torch.addcmul(from_input, r, from_state))
    return torch.lerp(cand, hidden, f)


def lstm_step__wrong_one_bias(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The bias of the state, bias_hh, is never added; in the example it is zero."""
    both = torch.cat([inputs, hidden], dim=1)
    weight = torch.cat([weight_ih, weight_hh], dim=1)
    i, f, c, o = (both @ weight.T + bias_ih).chunk(4, dim=1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(c)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def lstm_step__wrong_memory_in_place(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The memory is updated in place, so that the caller's memory is overwritten."""
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, c, o = a.chunk(4, dim=1)
    memory *= torch.sigmoid(f)
    memory += torch.sigmoid(i) * torch.tanh(c)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def context_vector__wrong_first_of_batch(states, scores):
    """(batch, n) @ (batch, n, d) pairs every row of weights with every sentence, and [0] keeps all weights on the first sentence's states."""
    weights = torch.softmax(scores, dim=-1)
    return (weights @ states)[0]


def context_vector__wrong_maximum_of_batch(states, scores):
    """The maximum of the whole batch is subtracted, so that a sentence whose scores are far below another's gets 0 / 0."""
    e = torch.exp(scores - scores.max())
    weights = e / e.sum(dim=1, keepdim=True)
    return (weights[:, :, None] * states).sum(dim=1)


def context_vector__right_online(states, scores):
    """One state after the other, with a running maximum, a running sum and a running average."""
    best = scores[:, :1]
    total = torch.ones_like(best)
    context = states[:, 0]
    for i in range(1, states.shape[1]):
        s = scores[:, i : i + 1]
        new = torch.maximum(best, s)
        total = total * torch.exp(best - new)
        add = torch.exp(s - new)
        total = total + add
        context = context + (states[:, i] - context) * (add / total)
        best = new
    return context


def teacher_inputs__wrong_shift_in_place(targets, start):
    """The shift is written into the caller's targets."""
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets


def teacher_inputs__wrong_flat_shift(targets, start):
    """The batch is shifted as one long row, so that every sentence but the first begins with the last target of the sentence before."""
    flat = torch.cat([torch.tensor([start]), targets.flatten()[:-1]])
    return flat.reshape(targets.shape)


def teacher_forcing_loss__wrong_epsilon_in_log(logits, targets):
    """A small number is added within the logarithm: finite, but the loss never exceeds about 20.7 per step, and there its gradient is lost."""
    p = torch.softmax(logits, dim=-1)
    p = p.gather(-1, targets[..., None]).squeeze(-1)
    return -torch.log(p + 1e-9).sum(dim=1)


def teacher_forcing_loss__wrong_reshape_for_transpose(logits, targets):
    """cross_entropy wants the classes on axis 1, and reshape does not exchange axes; the matrix of the example is symmetric."""
    batch, n, vocab = logits.shape
    losses = F.cross_entropy(logits.reshape(batch, vocab, n), targets, reduction="none")
    return losses.sum(dim=1)


def teacher_forcing_loss__right_margins(logits, targets):
    """The loss of a step is the logsumexp of all logits measured from the target's own."""
    own = torch.take_along_dim(logits, targets.unsqueeze(-1), dim=-1)
    return (logits - own).logsumexp(-1).sum(-1)


def gradient_reach__wrong_u_not_transposed(inputs, weight_ih, weight_hh):
    """On the way back the gradient is multiplied by U and not by its transpose, which is the same at width 1 only."""
    h = torch.zeros(weight_hh.shape[0], dtype=inputs.dtype)
    states = []
    for x in inputs:
        h = torch.tanh(weight_ih @ x + weight_hh @ h)
        states.append(h)
    g = torch.ones_like(h)
    norms = []
    for h in reversed(states):
        g = g * (1 - h**2)
        norms.append((weight_ih.T @ g).norm())
        g = weight_hh @ g
    return torch.stack(norms[::-1])


def gradient_reach__wrong_sum_for_norm(inputs, weight_ih, weight_hh):
    """The entries of the gradient are added up and the absolute value taken, which is the Euclidean norm at width 1 only."""
    x = inputs.clone().requires_grad_()
    h = torch.zeros(weight_hh.shape[0], dtype=inputs.dtype)
    for t in range(len(x)):
        h = torch.tanh(weight_ih @ x[t] + weight_hh @ h)
    (g,) = torch.autograd.grad(h.sum(), x)
    return g.sum(dim=1).abs()
