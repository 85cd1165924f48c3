# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
import torch.nn.functional as F
from einops import einsum, rearrange

# 01.1 gru_step


def gru_step__wrong_mixture_swapped(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Exchanges f and 1 - f in the mixture, as in the paper of Cho and others."""
    a_reset, a_update, a_cand = (inputs @ weight_ih.T + bias_ih).chunk(3, dim=-1)
    e_reset, e_update, e_cand = (hidden @ weight_hh.T + bias_hh).chunk(3, dim=-1)
    reset = torch.sigmoid(a_reset + e_reset)
    update = torch.sigmoid(a_update + e_update)
    candidate = torch.tanh(a_cand + reset * e_cand)
    return (1 - update) * hidden + update * candidate


def gru_step__wrong_bias_outside_reset(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Does not multiply the candidate's part of bias_hh by the reset gate."""
    width = hidden.shape[1]
    a = inputs @ weight_ih.T + bias_ih + bias_hh
    e = hidden @ weight_hh.T
    reset = torch.sigmoid(a[:, :width] + e[:, :width])
    update = torch.sigmoid(a[:, width : 2 * width] + e[:, width : 2 * width])
    candidate = torch.tanh(a[:, 2 * width :] + reset * e[:, 2 * width :])
    return update * hidden + (1 - update) * candidate


def gru_step__wrong_reset_before_product(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Multiplies the state by the reset gate before the product with the matrix U."""
    w_r, w_z, w_n = weight_ih.chunk(3)
    u_r, u_z, u_n = weight_hh.chunk(3)
    b_r, b_z, b_n = bias_ih.chunk(3)
    c_r, c_z, c_n = bias_hh.chunk(3)
    r = torch.sigmoid(inputs @ w_r.T + b_r + hidden @ u_r.T + c_r)
    z = torch.sigmoid(inputs @ w_z.T + b_z + hidden @ u_z.T + c_z)
    n = torch.tanh(inputs @ w_n.T + b_n + (r * hidden) @ u_n.T + c_n)
    return z * hidden + (1 - z) * n


def gru_step__wrong_width_one(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Cuts columns 0, 1 and 2, which are the blocks only where d_hidden is 1."""
    a = inputs @ weight_ih.T + bias_ih
    e = hidden @ weight_hh.T + bias_hh
    reset = torch.sigmoid(a[:, 0:1] + e[:, 0:1])
    update = torch.sigmoid(a[:, 1:2] + e[:, 1:2])
    candidate = torch.tanh(a[:, 2:3] + reset * e[:, 2:3])
    return update * hidden + (1 - update) * candidate


def gru_step__wrong_torch_cell(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Calls torch's own cell, which is forbidden here."""
    return torch.gru_cell(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh)


def gru_step__right_lerp(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Right: blocks by a reshape, tanh as a sigmoid of twice the number, and lerp for the mixture."""
    from_input = rearrange(inputs @ weight_ih.T + bias_ih, "batch (block d) -> block batch d", block=3)
    from_state = rearrange(hidden @ weight_hh.T + bias_hh, "batch (block d) -> block batch d", block=3)
    reset, update = torch.sigmoid(from_input[:2] + from_state[:2])
    candidate = 2 * torch.sigmoid(2 * (from_input[2] + reset * from_state[2])) - 1
    return torch.lerp(candidate, hidden, update)


# 01.2 lstm_step


def lstm_step__wrong_block_order(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Takes the third block for the output gate and the fourth for the candidate."""
    gates = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, o, g = gates.chunk(4, dim=-1)
    new_memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return o.sigmoid() * new_memory.tanh(), new_memory


def lstm_step__wrong_bias_hh_forgotten(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Forgets bias_hh, which is zero in the example."""
    gates = inputs @ weight_ih.T + hidden @ weight_hh.T + bias_ih
    i, f, g, o = gates.chunk(4, dim=-1)
    new_memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return o.sigmoid() * new_memory.tanh(), new_memory


def lstm_step__wrong_stacked(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Returns one stacked tensor instead of a tuple of two."""
    gates = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = gates.chunk(4, dim=-1)
    new_memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * new_memory.tanh(), new_memory])


def lstm_step__right_joined_matrices(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Right: joins input and state, and both matrices, to a single product."""
    both = torch.cat([inputs, hidden], dim=1)
    weight = torch.cat([weight_ih, weight_hh], dim=1)
    gates = torch.addmm(bias_ih + bias_hh, both, weight.T)
    i, f, g, o = gates.unflatten(1, (4, hidden.shape[1])).unbind(dim=1)
    new_memory = torch.addcmul(torch.sigmoid(f) * memory, torch.sigmoid(i), torch.tanh(g))
    return torch.sigmoid(o) * torch.tanh(new_memory), new_memory


# 01.3 context_vector


def context_vector__wrong_softmax_over_batch(states, scores):
    """Takes the softmax over the sentences of the batch."""
    weights = scores.softmax(dim=0)
    return (weights[..., None] * states).sum(dim=1)


def context_vector__wrong_squeezed(states, scores):
    """Squeezes all axes of length 1, also the batch or d_hidden."""
    weights = torch.softmax(scores, dim=1)
    return torch.bmm(weights.unsqueeze(1), states).squeeze()


def context_vector__wrong_weights_on_features(states, scores):
    """Lets the weights lie along the features, which works without an error where n is d_hidden."""
    weights = scores.softmax(dim=1)
    return (weights[:, None, :] * states).sum(dim=1)


def context_vector__right_sentence_by_sentence(states, scores):
    """Right: a vector times a matrix for each sentence, the weights by way of log_softmax."""
    contexts = []
    for matrix, row in zip(states, scores):
        weights = torch.exp(torch.log_softmax(row, dim=0))
        contexts.append(weights @ matrix)
    return torch.stack(contexts)


# 01.4 teacher_inputs


def teacher_inputs__wrong_float(targets, start):
    """Builds the answer in a tensor of floats instead of integers."""
    inputs = torch.zeros(targets.shape)
    inputs[:, 0] = start
    inputs[:, 1:] = targets[:, :-1]
    return inputs


def teacher_inputs__wrong_in_place(targets, start):
    """Shifts the targets of the caller in place."""
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets


def teacher_inputs__wrong_zeros_replaced(targets, start):
    """Pads with zeros and replaces every zero by the start, also where word 0 is a target."""
    padded = F.pad(targets[:, :-1], (1, 0))
    return torch.where(padded == 0, start, padded)


# 01.4 teacher_forcing_loss


def teacher_forcing_loss__wrong_reshaped(logits, targets):
    """Brings the vocabulary to axis 1 with a reshape, which mixes steps and words."""
    batch, n, vocab = logits.shape
    return F.cross_entropy(logits.reshape(batch, vocab, n), targets, reduction="none").sum(dim=1)


def teacher_forcing_loss__wrong_clamped_probability(logits, targets):
    """Clamps the probability at 1e-9, so logits a thousand apart give 20.7 and no gradient."""
    probabilities = logits.softmax(dim=-1).gather(2, targets[..., None])[..., 0]
    return -probabilities.clamp(min=1e-9).log().sum(dim=1)


def teacher_forcing_loss__wrong_shifted_again(logits, targets):
    """Shifts logits against targets, a habit from language models, and loses a step."""
    logits, targets = logits[:, :-1], targets[:, 1:]
    return F.cross_entropy(logits.mT, targets, reduction="none").sum(dim=1)


def teacher_forcing_loss__wrong_item(logits, targets):
    """Collects python numbers with item(), so that no gradient is left."""
    losses = []
    for b in range(logits.shape[0]):
        loss = F.cross_entropy(logits[b], targets[b], reduction="sum")
        losses.append(loss.item())
    return torch.tensor(losses)


def teacher_forcing_loss__wrong_ignores_word_zero(logits, targets):
    """Treats word 0 as padding, though it is an ordinary word here."""
    losses = F.cross_entropy(logits.mT, targets, ignore_index=0, reduction="none")
    return losses.sum(dim=1)


def teacher_forcing_loss__right_logsumexp(logits, targets):
    """Right: logsumexp of the logits less the logit of the target, picked by index arrays."""
    batch, n, _ = logits.shape
    rows = torch.arange(batch)[:, None]
    steps = torch.arange(n)[None, :]
    return (logits.logsumexp(dim=-1) - logits[rows, steps, targets]).sum(dim=-1)


def teacher_forcing_loss__right_one_hot(logits, targets):
    """Right: multiplies the log-probabilities by one-hot targets and sums everything but the batch."""
    chosen = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return -einsum(logits.log_softmax(-1), chosen, "batch n vocab, batch n vocab -> batch")


# 01.5 gradient_reach


def gradient_reach__wrong_accumulates(inputs, weight_ih, weight_hh):
    """Calls backward on the caller's tensor, so a second call adds to the old gradient."""
    inputs.requires_grad_()
    hidden = torch.zeros(weight_hh.shape[0])
    for x in inputs:
        hidden = torch.tanh(weight_ih @ x + weight_hh @ hidden)
    hidden.sum().backward()
    return inputs.grad.norm(dim=1)


def gradient_reach__wrong_not_transposed(inputs, weight_ih, weight_hh):
    """Goes back with U instead of its transpose, which shows only where U is not symmetric."""
    hidden = torch.zeros(weight_hh.shape[0])
    states = []
    for x in inputs:
        hidden = torch.tanh(weight_ih @ x + weight_hh @ hidden)
        states.append(hidden)
    back = torch.ones_like(hidden)
    norms = []
    for state in reversed(states):
        back = back * (1 - state**2)
        norms.append((weight_ih.T @ back).norm())
        back = weight_hh @ back
    return torch.stack(norms[::-1])


def gradient_reach__wrong_without_slopes(inputs, weight_ih, weight_hh):
    """Leaves out the slope of the tanh, which is right only for inputs of zero."""
    back = torch.ones(weight_hh.shape[0])
    norms = []
    for _ in range(len(inputs)):
        norms.append((weight_ih.T @ back).norm())
        back = weight_hh.T @ back
    norms.reverse()
    return torch.stack(norms)


def gradient_reach__wrong_frobenius(inputs, weight_ih, weight_hh):
    """Takes the norm of the whole Jacobian of the last state instead of the gradient of its sum."""

    def last_state(sequence):
        hidden = torch.zeros(weight_hh.shape[0])
        for x in sequence:
            hidden = torch.tanh(weight_ih @ x + weight_hh @ hidden)
        return hidden

    jacobian = torch.autograd.functional.jacobian(last_state, inputs)
    return (jacobian**2).sum(dim=(0, 2)).sqrt()


def gradient_reach__right_leaf_for_each_step(inputs, weight_ih, weight_hh):
    """Right: makes every input a leaf of its own and asks autograd for all of them."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    hidden = torch.zeros(1, weight_hh.shape[0])
    for leaf in leaves:
        hidden = torch.tanh(F.linear(leaf[None], weight_ih) + F.linear(hidden, weight_hh))
    gradients = torch.autograd.grad(hidden.sum(), leaves)
    return torch.tensor([math.sqrt((g.double() ** 2).sum()) for g in gradients])


def gradient_reach__right_chain_rule(inputs, weight_ih, weight_hh):
    """Right: the chain rule by hand with row vectors, filled in from the back."""
    n = inputs.shape[0]
    states = inputs.new_zeros(n + 1, weight_hh.shape[0])
    for t in range(n):
        states[t + 1] = torch.tanh(inputs[t] @ weight_ih.T + states[t] @ weight_hh.T)
    slopes = 1 - states**2
    norms = inputs.new_zeros(n)
    row = slopes[n].clone()
    for t in range(n - 1, -1, -1):
        norms[t] = torch.linalg.vector_norm(row @ weight_ih)
        row = (row @ weight_hh) * slopes[t]
    return norms
