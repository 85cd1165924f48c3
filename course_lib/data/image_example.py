"""The small example of Chapter 2: one query and a picture of four locations, small enough for a pencil.

A red circle stands beside a blue square, and below them is nothing. The columns of FEATURES have names: how much red
there is, how much blue, how many corners, and whether the location lies to the right. A location's feature vector is
its key and its value. The caption so far is "red circle beside", so the query asks for a colour, red or blue, on the
right:

>>> scores = FEATURES @ QUERY  # (location,)
>>> scores.int().tolist()
[2, 3, 0, 1]

The exponentials of the scores are 7.4, 20.1, 1 and 2.7, together 31.2. So the blue square gets 20.1 / 31.2 of the
attention, and the context has more blue than red:

>>> import torch
>>> weights = torch.softmax(scores, dim=0)  # (location,)
>>> weights.round(decimals=2)
tensor([0.2400, 0.6400, 0.0300, 0.0900])
>>> (weights @ FEATURES).round(decimals=2)  # (feature,)
tensor([0.4700, 1.2900, 1.2900, 0.7300])

The query is the decoder's hidden state. It asks for a colour, so the hidden state knows that a colour comes next. The
logit of a word adds what the hidden state and the context say about it. So "blue" wins, although the context has as
many corners as blue:

>>> logits = TO_LOGITS @ torch.cat([QUERY, weights @ FEATURES])  # (word,)
>>> WORDS, logits.round(decimals=2)
(('red', 'blue', 'square'), tensor([1.4700, 2.2900, 1.2900]))
"""

import torch

LOCATIONS = ("red circle", "blue square", "nothing", "nothing")  # row by row, on a grid of two by two
FEATURE_NAMES = ("red", "blue", "corners", "right")

FEATURES = torch.tensor([[2.0, 0, 0, 0], [0, 2, 2, 1], [0, 0, 0, 0], [0, 0, 0, 1]])  # (location, feature)
QUERY = torch.tensor([1.0, 1, 0, 1])  # (feature,): the hidden state of the decoder

WORDS = ("red", "blue", "square")  # of a vocabulary, those that the example follows
TO_LOGITS = torch.tensor(  # (word, hidden and context): each word adds one entry of the state and one of the context
    [[1.0, 0, 0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0, 1, 0]]
)
