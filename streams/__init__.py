"""Kafka: topics, the publisher, the changelog, and Faust's chunk transport and app."""
