from support.sides import side
from support.stored import reader, stored

__all__ = ["reader", "side", "stored"]
