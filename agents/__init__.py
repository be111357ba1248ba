"""The Faust agent that folds events into state: thin glue over the other rooms."""
