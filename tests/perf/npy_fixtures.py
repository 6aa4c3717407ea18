# SPDX-License-Identifier: Apache-2.0
"""Arrays as numpy writes them, with numpy's answers, for the tests of fanin-perf's reader.

  npy_fixtures.py DIRECTORY          writes files and manifest.tsv, one line an array: file, name, dtype, type as
                                     read, shape, fortran order, CRC-32 of the data in storage order as read, sum,
                                     min, max, argmin, argmax; or file, name, "refused", a part of the message
  npy_fixtures.py --seeds DIRECTORY  writes the small files that the fuzzer starts from

Sums of floats are the exact ones (math.fsum). Numbers are written so that nothing is lost: integers in
decimal, floats in hexadecimal. The data is the same every time.
"""

import argparse
import math
import pathlib
import sys
import zlib

import numpy as np

WIDENED = {f"{kind}{bits}": f"{kind}64" for kind in ("int", "uint") for bits in (8, 16, 32)}
TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def sample(dtype, shape, seed):
    """Random values over the type's range; no two extrema, so that argmin does not hang on the order."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (random.standard_normal(shape) * 10.0 ** random.integers(-6, 7, shape)).astype(dtype)
    limits = np.iinfo(dtype)
    inner = random.integers(limits.min + 1, limits.max, shape, dtype=dtype.newbyteorder("="))
    flat = inner.reshape(-1)
    if flat.size > 1:
        low, high = random.choice(flat.size, 2, replace=False)
        flat[low], flat[high] = limits.min, limits.max
    return inner.astype(dtype)


def exact(number):
    return float(number).hex() if isinstance(number, (float, np.floating)) else str(int(number))


def line(file, name, array):
    """What a reader must find; `array` is what numpy.load gives."""
    read = array.astype(WIDENED.get(array.dtype.name, array.dtype.newbyteorder("=")), order="K")
    # What numpy.save writes into the header: an array that is both is C order.
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    stored = read.ravel(order="F" if fortran else "C")
    fields = [file, name, array.dtype.str, read.dtype.name, str(tuple(int(n) for n in array.shape)), str(int(fortran)),
              str(zlib.crc32(stored.tobytes()))]
    if array.size:
        total = math.fsum(stored.tolist()) if read.dtype.kind == "f" else sum(stored.tolist())
        fields += [exact(total), exact(read.min()), exact(read.max()), str(array.argmin()), str(array.argmax())]
    return "\t".join(fields)


def numbers(directory):
    """Yields (file, name, array) for what is to be read."""
    for seed, type_name in enumerate(TYPES):
        for order in "<>":
            for layout in "CF":
                for version in (1, 2, 3):
                    array = sample(np.dtype(type_name).newbyteorder(order), (5, 7, 3), seed)
                    array = np.asarray(array, order=layout)
                    file = f"{type_name}_{'le' if order == '<' else 'be'}_{layout}_v{version}.npy"
                    with open(directory / file, "wb") as out:
                        np.lib.format.write_array(out, array, version=(version, 0))
                    yield file, "", array
    for file, array in {
            "scalar.npy": np.float64(2.5),
            "one.npy": np.array([7], "<u2"),
            "empty.npy": np.zeros((0,), "<f4"),
            "empty_2d.npy": np.zeros((3, 0, 2), ">i8", order="F"),
            "long.npy": sample("<i2", (100003,), 50),
            "transposed.npy": sample("<f4", (31, 57), 51).T,
            "strided.npy": sample("<f8", (40, 30), 52)[::3, ::2],
    }.items():
        np.save(directory / file, array)
        yield file, "", np.asarray(array) if array.ndim == 0 else np.load(directory / file)
    members = {
        "plain": sample("<f8", (12, 34), 60),
        "fortran": np.asfortranarray(sample(">i4", (9, 8), 61)),
        "bytes": sample("u1", (1000,), 62),
        "scalar": np.array(-3, "<i8"),
        "höhe": sample("<i8", (77,), 63),
        "empty": np.zeros((0, 2), "<u8"),
        "zeros": np.zeros(300000, "<f4"),
    }
    for file, save in (("stored.npz", np.savez), ("deflated.npz", np.savez_compressed)):
        save(directory / file, **members)
        for name, array in members.items():
            yield file, name, array
    np.savez_compressed(directory / "single.npz", members["fortran"])
    yield "single.npz", "", members["fortran"]
    yield "single.npz", "arr_0", members["fortran"]


def refused(directory):
    """Yields (file, name, part of the message) for what numpy writes and the reader does not take."""
    for file, array, part in (
        ("object.npy", np.array([1, "a", None], dtype=object), "unpickling"),
        ("structured.npy", np.zeros(3, [("x", "<f4"), ("höhe", "<f8")]), "structured"),
        ("void.npy", np.zeros(3, "V7"), "structured"),
        ("bool.npy", np.array([True, False]), "bool"),
        ("half.npy", np.zeros(3, np.float16), "float16"),
        ("long_double.npy", np.zeros(3, np.longdouble), "numpy.float64"),
        ("complex.npy", np.zeros(3, complex), "complex"),
        ("text.npy", np.array(["a", "bc"]), "text"),
        ("bytes.npy", np.array([b"a", b"bc"]), "text"),
        ("dates.npy", np.array(["2020-01-01"], "datetime64[D]"), "dates"),
    ):
        np.save(directory / file, array, allow_pickle=True)
        yield file, "", part
    np.savez(directory / "two.npz", first=np.zeros(2), second=np.zeros(3))
    yield "two.npz", "", "name one of 'first', 'second'"
    yield "two.npz", "third", "no array named 'third'; name one of 'first', 'second'"


def matplotlib_samples():
    """Yields (path, name, array) for matplotlib's sample grids, where it is installed."""
    try:
        import matplotlib
    except ImportError:
        return
    folder = pathlib.Path(matplotlib.get_data_path()) / "sample_data"
    for file in ("topobathy.npz", "jacksboro_fault_dem.npz"):
        if (folder / file).is_file():
            with np.load(folder / file) as archive:
                for name in archive.files:
                    yield str(folder / file), name, archive[name]


def write_manifest(directory):
    lines = [line(*item) for item in numbers(directory)]
    lines += ["\t".join((file, name, "refused", part)) for file, name, part in refused(directory)]
    lines += [line(*item) for item in matplotlib_samples()]
    (directory / "manifest.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_seeds(directory):
    for file, array, version in (
        ("f8_v1.npy", np.arange(6.0).reshape(2, 3), 1),
        ("be_i2_fortran_v2.npy", np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)), 2),
        ("u1_v3.npy", np.arange(5, dtype="u1"), 3),
        ("scalar_f4.npy", np.array(1, "<f4"), 1),
        ("empty_u8.npy", np.zeros((0, 3), "<u8"), 1),
        ("structured.npy", np.zeros(1, [("x", "<f4"), ("höhe", "<f8")]), 3),
        ("object.npy", np.array([None], dtype=object), 1),
    ):
        with open(directory / file, "wb") as out:
            np.lib.format.write_array(out, array, version=(version, 0), allow_pickle=True)
    members = {"a": np.arange(3, dtype="<i4"), "b": np.zeros(64)}
    np.savez(directory / "stored.npz", **members)
    np.savez_compressed(directory / "deflated.npz", **members)
    np.savez_compressed(directory / "single.npz", np.array(4, ">u2"))
    np.savez(directory / "none.npz")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--seeds", action="store_true", help="write the fuzzer's seeds")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    if arguments.seeds:
        write_seeds(arguments.directory)
    else:
        write_manifest(arguments.directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
