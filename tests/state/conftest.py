from support.partitions import partition, redis
from support.sides import side
from support.stored import reader, stored

__all__ = ["partition", "reader", "redis", "side", "stored"]
