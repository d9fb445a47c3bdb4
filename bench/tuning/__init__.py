"""The tuning suite: how good the best kernel found is, against the seconds spent on it."""
