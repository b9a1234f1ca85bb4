"""Data frames of R's .rda files and lazy-load databases, as columns of numbers, texts and None (for NA)."""
import bz2, gzip, lzma, struct, zlib

def inflate(b):
    if b[:2] == b"\x1f\x8b": return gzip.decompress(b)
    if b[:3] == b"BZh": return bz2.decompress(b)
    if b[:6] == b"\xfd7zXZ\x00": return lzma.decompress(b)
    return b

class R:
    def __init__(s, b): s.b, s.i, s.refs = b, 0, []
    def int(s):
        v = struct.unpack_from(">i", s.b, s.i)[0]; s.i += 4; return v
    def head(s):
        if s.b[s.i:s.i+5] in (b"RDX2\n", b"RDX3\n"): s.i += 5
        assert s.b[s.i:s.i+2] == b"X\n", s.b[s.i:s.i+8]; s.i += 2
        v = s.int(); s.int(); s.int()
        if v == 3: n = s.int(); s.i += n
        return s
    def item(s):
        f = s.int(); t, attr, tag = f & 255, f & 512, f & 1024
        if t == 254: return None
        if t in (253, 252, 251, 250, 242, 241): return None
        if t == 255:
            n = f >> 8
            if n == 0: n = s.int()
            return s.refs[n-1]
        if t == 1:
            v = s.item(); s.refs.append(v); return v
        if t == 9:
            n = s.int()
            if n == -1: return None
            v = s.b[s.i:s.i+n].decode("latin1" if not f >> 12 & 8 else "utf8", "replace"); s.i += n; return v
        if t in (247, 249):  # persist, namespace
            s.int(); n = s.int(); v = [s.item() for _ in range(n)]; s.refs.append(v); return v
        if t == 4:
            s.int(); s.refs.append("env"); [s.item() for _ in range(4)]; return "env"
        if t == 238:  # altrep
            info, state, at = s.item(), s.item(), s.item()
            name = info[0][1] if info else None
            if name == "compact_intseq": n, a, st = state[0]; return list(range(int(a), int(a)+int(n)*int(st), int(st))), {}
            if name == "wrap_real" or name and name.startswith("wrap"): return state[0][0] if isinstance(state[0], tuple) else state[0]
            if name == "deferred_string": return [str(x) for x in state[0][1][0]], {}
            raise ValueError(name)
        if t == 2 or t == 6 or t == 3:
            out = []
            while True:
                a = s.item() if attr else None
                name = s.item() if tag else None
                out.append((name, s.item()))
                f = s.int(); t, attr, tag = f & 255, f & 512, f & 1024
                if t == 254: return out
                if t not in (2,):
                    s.i -= 4; out.append((None, s.item())); return out
        if t == 10 or t == 13:
            n = s.int(); v = list(struct.unpack_from(f">{n}i", s.b, s.i)); s.i += 4*n
            v = [None if x == -2**31 else x for x in v]
        elif t == 14:
            n = s.int(); v = list(struct.unpack_from(f">{n}d", s.b, s.i)); s.i += 8*n
            v = [None if x != x else x for x in v]
        elif t == 16: n = s.int(); v = [s.item() for _ in range(n)]
        elif t in (19, 20): n = s.int(); v = [s.item() for _ in range(n)]
        elif t == 24: n = s.int(); v = s.b[s.i:s.i+n]; s.i += n
        elif t == 15: n = s.int(); v = [0]*n; s.i += 16*n
        else: raise ValueError(f"type {t} at {s.i}")
        a = dict(s.item()) if attr else {}
        return v, a

def frame(v):
    cols, a = v
    names = a["names"][0]
    out = {}
    for name, c in zip(names, cols):
        if not isinstance(c, tuple): continue
        x, at = c
        if "levels" in at: lv = at["levels"][0]; x = [None if k is None else lv[k-1] for k in x]
        elif at.get("class") and "Date" in str(at["class"]): continue
        elif isinstance(x, list) and x and isinstance(x[0], tuple): continue
        out[name] = x
    return out

def rda(path):
    r = R(inflate(open(path, "rb").read())).head()
    return {k: v for k, v in r.item()}

def lazy(base, name):
    x = R(inflate2(open(base + ".rdx", "rb").read())).head().item()
    idx = dict(zip(x[1]["names"][0], x[0]))
    v = idx["variables"]; names = v[1]["names"][0]
    off, n = v[0][names.index(name)][0]
    b = open(base + ".rdb", "rb").read()[off:off+n]
    kind = b[4:5]
    if kind == b"Z": b = lzma.decompress(b[5:], format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2}])
    elif kind == b"2": b = bz2.decompress(b[5:])
    else: b = zlib.decompress(b[4:])
    return R(b).head().item()

def inflate2(b):
    try: return zlib.decompress(b)
    except zlib.error: return inflate(b)
