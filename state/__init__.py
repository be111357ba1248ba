"""The Redis layout, the table store of the Faust table `state`, and its readers. The only room that knows Redis."""
