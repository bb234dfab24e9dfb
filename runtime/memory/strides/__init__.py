"""What becomes of shapes and strides when an array is viewed another way: functions over tuples, as NumPy has them."""
