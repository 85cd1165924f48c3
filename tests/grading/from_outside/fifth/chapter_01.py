# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
import torch.nn.functional as F
from einops import rearrange


def gru_step__wrong_blocks_swapped(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Takes the first block for the update gate and the second for the reset gate."""
    a_z, a_r, a_n = (inputs @ weight_ih.T + bias_ih).chunk(3, dim=1)
    e_z, e_r, e_n = (hidden @ weight_hh.T + bias_hh).chunk(3, dim=1)
    r = torch.sigmoid(a_r + e_r)
    z = torch.sigmoid(a_z + e_z)
    n = torch.tanh(a_n + r * e_n)
    return z * hidden + (1 - z) * n


def gru_step__wrong_bias_not_reset(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Leaves the bias of the state's candidate block out of the product with the reset gate."""
    d = hidden.shape[1]
    a = inputs @ weight_ih.T + bias_ih + bias_hh
    e = hidden @ weight_hh.T
    r = torch.sigmoid(a[:, :d] + e[:, :d])
    z = torch.sigmoid(a[:, d : 2 * d] + e[:, d : 2 * d])
    n = torch.tanh(a[:, 2 * d :] + r * e[:, 2 * d :])
    return z * hidden + (1 - z) * n


def gru_step__wrong_state_reset(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Resets the state before the product with the matrix, which is the same only for a state of one entry."""
    d = hidden.shape[1]
    w_r, w_z, w_n = weight_ih.split(d)
    u_r, u_z, u_n = weight_hh.split(d)
    b_r, b_z, b_n = bias_ih.split(d)
    c_r, c_z, c_n = bias_hh.split(d)
    r = torch.sigmoid(inputs @ w_r.T + b_r + hidden @ u_r.T + c_r)
    z = torch.sigmoid(inputs @ w_z.T + b_z + hidden @ u_z.T + c_z)
    n = torch.tanh(inputs @ w_n.T + b_n + (r * hidden) @ u_n.T + r * c_n)
    return z * hidden + (1 - z) * n


def gru_step__right_lerp(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Right: splits both contributions by rearrange and mixes candidate and state by a lerp."""
    a = rearrange(F.linear(inputs, weight_ih, bias_ih), "b (block d) -> block b d", block=3)
    e = rearrange(F.linear(hidden, weight_hh, bias_hh), "b (block d) -> block b d", block=3)
    r, z = torch.sigmoid(a[:2] + e[:2])
    return torch.lerp(torch.tanh(a[2] + r * e[2]), hidden, z)


def lstm_step__wrong_gate_order(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Takes the third block for the output gate and the fourth for the candidate."""
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, o, g = a.chunk(4, dim=1)
    new = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(new), new


def lstm_step__wrong_old_memory(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Computes the hidden state from the old memory."""
    a = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = a.chunk(4, dim=1)
    h = o.sigmoid() * torch.tanh(memory)
    m = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return h, m


def lstm_step__wrong_memory_in_place(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Updates the caller's memory in place."""
    a = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    i, f, g, o = a.chunk(4, dim=1)
    memory *= f.sigmoid()
    memory += i.sigmoid() * g.tanh()
    return o.sigmoid() * memory.tanh(), memory


def lstm_step__right_one_product(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """Right: glues input and state together, and both matrices, and takes one product."""
    x = torch.cat([inputs, hidden], dim=1)
    w = torch.cat([weight_ih, weight_hh], dim=1)
    blocks = (x @ w.T + (bias_ih + bias_hh)).view(x.shape[0], 4, hidden.shape[1])
    gates = blocks[:, [0, 1, 3]].sigmoid()
    m = gates[:, 1] * memory + gates[:, 0] * blocks[:, 2].tanh()
    return gates[:, 2] * m.tanh(), m


def context_vector__wrong_one_maximum(states, scores):
    """Shifts all sentences by one common maximum, so a sentence with much lower scores becomes 0 / 0."""
    e = (scores - scores.max()).exp()
    weights = e / e.sum(dim=1, keepdim=True)
    return (weights[..., None] * states).sum(dim=1)


def context_vector__wrong_softmax_over_batch(states, scores):
    """Takes the softmax along the batch."""
    weights = torch.softmax(scores, dim=0)
    return torch.einsum("bn,bnd->bd", weights, states)


def context_vector__right_bmm(states, scores):
    """Right: exponentiates the log softmax and takes one product of matrices for each sentence."""
    alpha = scores.log_softmax(dim=1).exp()
    return torch.bmm(states.transpose(1, 2), alpha.unsqueeze(2)).squeeze(2)


def teacher_inputs__wrong_one_longer(targets, start):
    """Puts start in front and forgets to leave out the last word."""
    first = torch.full((targets.shape[0], 1), start, dtype=targets.dtype)
    return torch.cat([first, targets], dim=1)


def teacher_inputs__wrong_word_zero(targets, start):
    """Fills up with 0 and then replaces every 0 by start, also where 0 is a word of the sentence."""
    shifted = F.pad(targets[:, :-1], (1, 0))
    return torch.where(shifted == 0, start, shifted)


def teacher_inputs__wrong_in_place(targets, start):
    """Shifts the caller's targets in place."""
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets


def teacher_inputs__right_roll(targets, start):
    """Right: rolls the sentences by one step, which copies them, and overwrites the first column."""
    inputs = torch.roll(targets, shifts=1, dims=1)
    inputs[:, 0] = start
    return inputs


def teacher_forcing_loss__wrong_clamped(logits, targets):
    """Clamps the probability, so the loss of an improbable word is finite but too small."""
    p = torch.softmax(logits, dim=-1)
    p = p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -torch.log(p.clamp(min=1e-9)).sum(-1)


def teacher_forcing_loss__wrong_axes_reshaped(logits, targets):
    """Brings the vocabulary to axis 1 by a reshape, which mixes steps and words."""
    b, n, v = logits.shape
    loss = F.cross_entropy(logits.reshape(b, v, n), targets, reduction="none")
    return loss.sum(dim=1)


def teacher_forcing_loss__wrong_ignores_zero(logits, targets):
    """Ignores the word 0 as if it were padding."""
    loss = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none", ignore_index=0)
    return loss.sum(dim=1)


def teacher_forcing_loss__wrong_no_gradient(logits, targets):
    """Collects the losses as Python numbers, so the gradient is lost."""
    logp = logits.log_softmax(dim=-1)
    losses = []
    for b in range(targets.shape[0]):
        loss = 0.0
        for t in range(targets.shape[1]):
            loss -= logp[b, t, targets[b, t]].item()
        losses.append(loss)
    return torch.tensor(losses)


def teacher_forcing_loss__right_logsumexp(logits, targets):
    """Right: logsumexp of all logits less the logit of the target, both below the largest, summed over the steps."""
    logits = logits - logits.amax(dim=-1, keepdim=True)
    batch = torch.arange(targets.shape[0])[:, None]
    steps = torch.arange(targets.shape[1])
    chosen = logits[batch, steps, targets]
    return (logits.logsumexp(dim=-1) - chosen).sum(dim=-1)


def gradient_reach__wrong_detached(inputs, weight_ih, weight_hh):
    """Detaches the state after every step, so no gradient reaches further back than the last input."""
    x = inputs.clone().requires_grad_()
    h = torch.zeros(weight_hh.shape[0])
    for t in range(len(x)):
        h = torch.tanh(weight_ih @ x[t] + weight_hh @ h.detach())
    (gradient,) = torch.autograd.grad(h.sum(), x)
    return gradient.norm(dim=1)


def gradient_reach__wrong_untransposed(inputs, weight_ih, weight_hh):
    """Goes back with weight_hh and not with its transpose, which is the same only where the matrix is symmetric."""
    h = torch.zeros(weight_hh.shape[0])
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


def gradient_reach__wrong_accumulates(inputs, weight_ih, weight_hh):
    """Calls backward on the caller's inputs, whose gradient adds up from call to call."""
    inputs.requires_grad_()
    hidden = torch.zeros(weight_hh.shape[0])
    for x in inputs:
        hidden = torch.tanh(weight_ih @ x + weight_hh @ hidden)
    hidden.sum().backward()
    return inputs.grad.norm(dim=1).clone()


def gradient_reach__wrong_absolute_sum(inputs, weight_ih, weight_hh):
    """Sums the absolute values of the gradient, which is the Euclidean norm only where d_input is 1."""
    x = inputs.detach().clone().requires_grad_(True)
    h = torch.zeros(weight_ih.shape[0])
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ weight_ih.T + h @ weight_hh.T)
    h.sum().backward()
    return x.grad.abs().sum(dim=1)


def gradient_reach__right_forward_jacobians(inputs, weight_ih, weight_hh):
    """Right: carries the Jacobian of the state by every input forward through the steps."""
    h = torch.zeros(weight_hh.shape[0])
    jacobians = []
    for x in inputs:
        h = torch.tanh(weight_ih @ x + weight_hh @ h)
        slope = (1 - h * h)[:, None]
        jacobians = [slope * (weight_hh @ j) for j in jacobians]
        jacobians.append(slope * weight_ih)
    return torch.stack([j.sum(dim=0).square().sum().sqrt() for j in jacobians])
