"""The names of the location's pipelines, for whoever asks the ledger without building a location."""

DAILY = "daily_customers"
