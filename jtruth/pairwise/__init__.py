"""Which of two systems do people or judges prefer? Win rates, position bias, strengths of several systems."""
