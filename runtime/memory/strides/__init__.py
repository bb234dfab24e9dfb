"""The shapes and strides of an array's views: functions over tuples, with the results that NumPy gives."""
