"""What runs beside a stranger's code. Started as a script: modules here import each other by their bare names."""
