"""Right answers to 14.5 that are written in other ways."""

import torch


def probe_accuracy_by_lstsq(vectors, labels, new_vectors, new_labels):
    targets = torch.eye(int(labels.max()) + 1)[labels]
    fitted = torch.linalg.lstsq(vectors, targets).solution
    return ((new_vectors @ fitted).max(1).indices == new_labels).float().mean()


def probe_accuracy_a_class_at_a_time(vectors, labels, new_vectors, new_labels):
    """The equations of the textbook, a class at a time."""
    columns = []
    for each in range(int(labels.max()) + 1):
        wanted = (labels == each).double()
        columns.append(torch.linalg.solve(vectors.T.double() @ vectors.double(), vectors.T.double() @ wanted))
    right = 0
    for vector, label in zip(new_vectors, new_labels, strict=True):
        logits = [float(vector.double() @ column) for column in columns]
        right += logits.index(max(logits)) == int(label)
    return torch.tensor(right / len(new_labels))


def probe_accuracy_by_qr_with_targets_of_three(vectors, labels, new_vectors, new_labels):
    """Targets of 1 and -1 would need a bias; targets of 3 and 0 are as good as 1 and 0."""
    targets = torch.zeros(len(labels), len(labels.unique())).scatter(1, labels[:, None], 3.0)
    q, r = torch.linalg.qr(vectors)
    fitted = torch.linalg.solve_triangular(r, q.T @ targets, upper=True)
    said = torch.einsum("sd,dc->sc", new_vectors, fitted).softmax(1).argmax(1)
    return said.eq(new_labels).sum() / len(new_labels)


def _accuracy(vectors, labels, new_vectors, new_labels):
    targets = torch.nn.functional.one_hot(labels).to(vectors.dtype)
    said = (new_vectors @ torch.linalg.lstsq(vectors, targets).solution).argmax(-1)
    return (said == new_labels).to(torch.float32).mean()


def selectivity_by_lstsq(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    in_control = _accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
    return _accuracy(vectors, labels, new_vectors, new_labels) - in_control


def selectivity_word_by_word(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Random labels looked up one by one."""
    control = torch.tensor([random_labels[word].item() for word in words.tolist()])
    new_control = torch.tensor([random_labels[word].item() for word in new_words.tolist()])
    pairs = ((labels, new_labels), (control, new_control))
    true, in_control = (_accuracy(vectors.double(), some, new_vectors.double(), new) for some, new in pairs)
    return true - in_control


def selectivity_with_both_probes_in_one_fit(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """One fit with the columns of both probes side by side."""
    classes = int(labels.max()) + 1
    eye = torch.eye(classes)
    targets = torch.cat([eye[labels], eye[random_labels[words]]], 1)
    logits = new_vectors @ (torch.linalg.pinv(vectors) @ targets)
    right = (logits[:, :classes].argmax(1) == new_labels).sum()
    right_in_control = (logits[:, classes:].argmax(1) == random_labels.gather(0, new_words)).sum()
    return (right - right_in_control) / len(new_labels)
