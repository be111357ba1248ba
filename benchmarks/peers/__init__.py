"""The same small fold written for stock Faust, Quix Streams and Kafka Streams, each as its own docs would have it."""
