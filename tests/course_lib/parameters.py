from torch import nn


def start_anywhere(module: nn.Module) -> nn.Module:
    """Draw gains and biases too: as they begin, 1 and 0, one could stand in for another."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.3, std=0.5)
    return module
