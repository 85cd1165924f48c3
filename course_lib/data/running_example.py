"""The running example of the book: four tokens with small numbers, the same in every chapter.

All numbers are small integers, the width of a key is 4, and so √d_key is exactly 2: a pencil is enough to follow. The
columns of X have names, FEATURES. A row of W_Q, W_K or W_V says which features are added up to make one number of a
query, a key or a value: weights have the shape (out, in), as in torch, so that queries are X @ W_Q.T.

>>> X.int().tolist()  # thing, living, action, refers to another word
[[0, 0, 0, 1], [2, 1, 0, 0], [0, 0, 2, 0], [1, 0, 0, 2]]

"itself" refers to another word and is a thing. Its query asks mostly for things and for actions:

>>> Q[TOKENS.index("itself")].tolist(), K[TOKENS.index("cat")].tolist()
([0.0, 2.0, 2.0, 3.0], [0.0, 2.0, 2.0, 0.0])
>>> scores = Q @ K.T  # (query, key)
>>> scores.int().tolist()
[[0, 4, 2, 2], [1, 0, 4, 2], [2, 4, 0, 6], [0, 8, 6, 4]]

Divided by 2 and passed through a softmax, they say where each token looks. "itself" finds the cat, and "sees", which
looks forward to "itself", looks back to the cat when the future is hidden:

>>> import torch
>>> from course_lib.masks import causal_mask, masked_softmax
>>> torch.softmax(scores / 2, dim=-1).round(decimals=2)
tensor([[0.0700, 0.5300, 0.2000, 0.2000],
        [0.1300, 0.0800, 0.5800, 0.2100],
        [0.0900, 0.2400, 0.0300, 0.6400],
        [0.0100, 0.6600, 0.2400, 0.0900]])
>>> masked_softmax(scores / 2, causal_mask(4)).round(decimals=2)
tensor([[1.0000, 0.0000, 0.0000, 0.0000],
        [0.6200, 0.3800, 0.0000, 0.0000],
        [0.2400, 0.6700, 0.0900, 0.0000],
        [0.0100, 0.6600, 0.2400, 0.0900]])

The columns of Q, K and V make two heads of width 2. The first brings words that refer and things together, the
second things and actions, so that "itself" looks at the cat with one and at what the cat does with the other:

>>> (Q[:, :2] @ K[:, :2].T).int().tolist()
[[0, 2, 0, 1], [1, 0, 0, 2], [2, 0, 0, 4], [0, 4, 0, 2]]
>>> (Q[:, 2:] @ K[:, 2:].T).int().tolist()
[[0, 2, 2, 1], [0, 0, 4, 0], [0, 4, 0, 2], [0, 4, 6, 2]]

MEMORY is what an encoder might have made of a Latin sentence in another order, SOURCE_TOKENS: "feles" is the cat, "se"
itself, "videt" sees. In cross-attention each English token looks for what is to be written after it: "the" at the cat,
"cat" at sees, "sees" at itself.

>>> torch.softmax(Q @ (MEMORY @ W_K.T).T / 2, dim=-1).round(decimals=2)
tensor([[0.6900, 0.1500, 0.1500],
        [0.2100, 0.2100, 0.5800],
        [0.2600, 0.7100, 0.0400],
        [0.9000, 0.0300, 0.0700]])
"""

import torch

TOKENS = ("the", "cat", "sees", "itself")
FEATURES = ("thing", "living", "action", "refers")

X = torch.tensor([[0.0, 0, 0, 1], [2, 1, 0, 0], [0, 0, 2, 0], [1, 0, 0, 2]])  # (time, d_model)

W_Q = torch.tensor([[0.0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1]])  # (d_key, d_model)
W_K = torch.tensor([[0.0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])  # (d_key, d_model)
W_V = torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0]])  # (d_value, d_model)
W_O = torch.tensor([[0.0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0]])  # (d_model, d_value)

Q, K, V = X @ W_Q.T, X @ W_K.T, X @ W_V.T  # (time, d_key), (time, d_key), (time, d_value)

SOURCE_TOKENS = ("feles", "se", "videt")
MEMORY = torch.tensor([[2.0, 1, 1, 0], [1, 0, 0, 2], [0, 1, 2, 0]])  # (source, d_model)
