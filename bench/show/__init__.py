"""What people see of the results: tables and the page."""
