"""What is measured over corpora: each study a measure, a file of numbers, and a command."""
