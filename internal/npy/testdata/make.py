# Writes the .npy files beside it with NumPy, for TestNumPyFiles.
import io

import numpy as np

c = np.arange(24).reshape(2, 3, 4)
arrays = {
    "scalar": np.array(2.5, "<f8"),
    "vector": np.array([1, 2, 3], "<u2"),
    "bytes": np.array([[1, 255]], "u1"),
    "bools": np.array([True, False, True]),
    "letters": np.array(["a", "b"], "<U1"),
    "words": np.array([["", "äö"], ["z", "abc"]], "<U3"),
    "words_big": np.array([["", "äö"], ["z", "abc"]], ">U3"),
    "complex_big": np.array([1 + 2j, -3.5], ">c8"),
    "columns": np.asfortranarray(c.astype("<i4")),
    "columns_big": np.asfortranarray(c.astype(">f8")),
    "empty_columns": np.zeros((0, 3), "<f4", order="F"),
}
for name, a in arrays.items():
    np.save(name + ".npy", a)
with open("version2.npy", "wb") as f:
    np.lib.format.write_array(f, np.array([7, -7], "<i8"), version=(2, 0))
