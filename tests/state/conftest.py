from support.stored import reader, stored

__all__ = ["reader", "stored"]
