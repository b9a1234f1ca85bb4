// Writes tokenizer files of every kind, small ones whose vocabularies are made of the texts below, and what the original
// library (Rust, as the npm package @anush008/tokenizers builds it for Node) makes of the texts with each:
//
//   npm install --ignore-scripts @anush008/tokenizers@0.6.0 && NODE_PATH=node_modules node golden.cjs .
//
// One file, golden.json: {"tokenizers": {name: tokenizer.json}, "texts": […], "pairs": […], "ids": {name: […]}, …}.
const fs = require("fs"), os = require("os"), path = require("path");
const { Tokenizer } = require("@anush008/tokenizers");

const texts = [
  "the cat sat on the mat", "The Dog's bone isn't here, they'll say; we've gone!", "", " ", "  two  spaces   three\t tabs\n\nlines \n",
  "Crème brûlée à la façade — naïve Ångström", "ﬁne ﬂuﬀ ½ Ⅳ x² ﷺ", "日本語のテキスト and 中文字符混合", "한국어 텍스트입니다", "Привет, мир! Ёлка İstanbul ΟΔΟΣ",
  "1234 567 3.14159 10,000,000 ４２ ٣", "user@example.com http://a.b/c?d=e&f=g #tag", "emoji 😀 👩‍👩‍👧 🇫🇷 é", "control\u0000\u0007 char\u200b zero\u00adsoft\ufffd",
  "[MASK] is a mask and [mask] not<s>one</s> [MASK]s", "unaffable unaffable", "antidisestablishmentarianism" .repeat(5), "a", "▁under ▁ score", "don't DON'T can't   'quoted'",
  "non\u00a0breaking\u3000ideographic\u2003em", "ก็ไทย ภาษา", "العربية نص", "हिन्दी में", "\u1d400 𝒳 ＡＢＣ ｶﾞ", "foo_bar __init__ x+=1 a->b $9.99 ©®™ «q»", "trailing space ", "\ttab", "a \ufffecat <unk>he cat", "e\u0301 vs \u00e9", "mixedCASE Words THAT Shout",
];
const pairs = [["the cat", "sat on the mat with the dog"], ["a", ""], ["the mat the mat the mat the mat", "x y"], ["they'll", "isn't it"]];

// words are substrings that come often, by their counts.
function words(split, least, longest) {
  const count = new Map();
  for (const t of texts) for (const w of split(t)) {
    const c = Array.from(w);
    for (let i = 0; i < c.length; i++) for (let j = i + 1; j <= Math.min(c.length, i + longest); j++) {
      const s = c.slice(i, j).join(""), k = (i ? "1" : "0") + s;
      count.set(k, (count.get(k) || 0) + 1);
    }
  }
  return [...count].filter(([s, n]) => n >= least || Array.from(s).length === 2);
}

function numbered(list) { return Object.fromEntries([...new Set(list)].map((s, i) => [s, i])); }

const plain = t => t.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "").split(/\s+|(?=[\p{P}])|(?<=[\p{P}])/u).filter(Boolean);
const ascii = s => /^.[\x20-\x7eа-яёñéè\u3040-\u30ff]*$/u.test(s); // some characters stay unknown

function wordPiece() {
  const list = words(plain, 3, 8).filter(([s]) => ascii(s)).map(([s]) => (s[0] === "1" ? "##" : "") + s.slice(1));
  return numbered(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ...list]);
}

// bpe joins the most frequent pair of the words, count times.
function bpe(list, count, first, prefix = "", suffix = "") {
  let ws = list.map(w => Array.from(w).map((c, i, a) => (i ? prefix : "") + c + (i === a.length - 1 ? suffix : "")));
  const merges = [], vocab = [...first, ...new Set(ws.flat())];
  for (let k = 0; k < count; k++) {
    const n = new Map();
    for (const w of ws) for (let i = 0; i + 1 < w.length; i++) n.set(w[i] + "\u0000" + w[i + 1], (n.get(w[i] + "\u0000" + w[i + 1]) || 0) + 1);
    const best = [...n].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0];
    if (!best) break;
    const [a, b] = best[0].split("\u0000"), ab = a + (prefix && b.startsWith(prefix) ? b.slice(prefix.length) : b);
    merges.push([a, b]);
    vocab.push(ab);
    ws = ws.map(w => { const o = []; for (let i = 0; i < w.length; i++) if (w[i] === a && w[i + 1] === b) { o.push(ab); i++; } else o.push(w[i]); return o; });
  }
  return { vocab: numbered(vocab), merges };
}

const printed = c => (c >= 33 && c <= 126) || (c >= 161 && c <= 172) || c >= 174;
const byteChars = [];
for (let c = 0, n = 256; c < 256; c++) byteChars.push(String.fromCodePoint(printed(c) ? c : n++));
const bytesOf = s => Array.from(Buffer.from(s)).map(c => byteChars[c]).join("");
const gpt2 = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
const meta = t => t.split(/(?= )/u).map(w => "▁" + w.trim()).filter(w => w !== "▁");

function unigram(bytes) {
  const total = words(meta, 2, 7).filter(([s]) => ascii(s.replace(/▁/g, "")));
  const count = new Map();
  for (const [s, n] of total) count.set(s.slice(1), (count.get(s.slice(1)) || 0) + n);
  const first = [["<unk>", 0], ["<s>", 0], ["</s>", 0], ["<pad>", 0]];
  if (bytes) for (let c = 0; c < 256; c++) first.push([`<0x${c.toString(16).toUpperCase().padStart(2, "0")}>`, 0]);
  return [...first, ...[...count].map(([s, n], i) => [s, Math.log(n * Array.from(s).length / 20000) - i * 1e-5])];
}

// charsmap is a precompiled_charsmap: a double array (Darts) of the keys' bytes, and the texts.
function charsmap(map) {
  const root = { next: new Map() };
  let texts = Buffer.alloc(0);
  for (const [k, v] of Object.entries(map)) {
    let n = root;
    for (const c of Buffer.from(k)) { if (!n.next.has(c)) n.next.set(c, { next: new Map() }); n = n.next.get(c); }
    n.value = texts.length;
    texts = Buffer.concat([texts, Buffer.from(v), Buffer.from([0])]);
  }
  const units = [0], used = new Set([0]), bases = new Set();
  const place = (n, at) => {
    const keys = [...n.next.keys()];
    let base = 0;
    for (base = 1; bases.has(base) || used.has(base) || keys.some(c => used.has(base ^ c)); base++);
    bases.add(base);
    if ((at ^ base) >= 1 << 21) throw new Error("too large");
    if (n.value !== undefined) { used.add(base); units[base] = (n.value | 0x80000000) >>> 0; }
    units[at] = ((units[at] || 0) | ((at ^ base) << 10) | (n.value !== undefined ? 256 : 0)) >>> 0;
    for (const c of keys) { used.add(base ^ c); units[base ^ c] = c; }
    for (const c of keys) place(n.next.get(c), base ^ c);
  };
  place(root, 0);
  while (units.length % 256) units.push(0);
  const b = Buffer.alloc(4 + 4 * units.length);
  b.writeUInt32LE(4 * units.length, 0);
  for (let i = 0; i < units.length; i++) b.writeUInt32LE(units[i] || 0, 4 + 4 * i);
  return Buffer.concat([b, texts]).toString("base64");
}
const folded = { "ﬁ": "fi", "ﬂ": "fl", "½": "1/2", "Ⅳ": "IV", "²": "2", "\u3000": " ", "\u00a0": " ", "\t": " ", "\n": " ", "e\u0301": "é", "Ａ": "A", "Ｂ": "B", "ｶﾞ": "ガ", "\u200b": "", "\u0007": "" };

const added = (list, extra = {}) => list.map(([content, id]) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...extra[content] }));
const around = (a, ai, b, bi) => ({
  type: "TemplateProcessing",
  single: [{ SpecialToken: { id: a, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: b, type_id: 0 } }],
  pair: [{ SpecialToken: { id: a, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: b, type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }, { SpecialToken: { id: b, type_id: 1 } }],
  special_tokens: { [a]: { id: a, ids: [ai], tokens: [a] }, [b]: { id: b, ids: [bi], tokens: [b] } },
});
const file = parts => ({ version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...parts });
const wp = { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab: wordPiece() };
const specials = added([["[PAD]", 0], ["[UNK]", 1], ["[CLS]", 2], ["[SEP]", 3], ["[MASK]", 4]], { "[MASK]": { lstrip: true } });
const b = (name, o = {}) => ({ type: name, ...o });
const seq = (...list) => ({ type: "Sequence", pretokenizers: list }), norms = (...list) => ({ type: "Sequence", normalizers: list });
const level = wp.vocab, byteWords = texts.flatMap(t => t.match(gpt2) || []).map(bytesOf);
const gpt = { dropout: null, unk_token: null, continuing_subword_prefix: "", end_of_word_suffix: "", fuse_unk: false, byte_fallback: false, ...bpe(byteWords, 150, ["<|endoftext|>", "<s>", "</s>", ...byteChars]) };
const byteTokens = Array.from({ length: 256 }, (_, c) => `<0x${c.toString(16).toUpperCase().padStart(2, "0")}>`);
const metaWords = texts.slice(0, 5).concat(texts.slice(10, 12)).flatMap(meta);
const llama = bpe(metaWords, 100, ["<unk>", "<s>", "</s>", ...byteTokens]);
const clip = bpe(texts.slice(0, 5).flatMap(t => plain(t)), 60, ["<unk>"], "", "</w>");
const sub = bpe(texts.slice(0, 5).flatMap(t => plain(t)), 60, ["<unk>"], "##", "");
const split = (o, behavior, invert = false) => ({ type: "Split", pattern: o, behavior, invert });
const llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const gpt4 = "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+";

const tokenizers = {
  bert: file({ added_tokens: specials, normalizer: b("BertNormalizer", { clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true }), pre_tokenizer: b("BertPreTokenizer"), post_processor: around("[CLS]", 2, "[SEP]", 3), model: wp }),
  "bert-cased": file({ added_tokens: added([["[UNK]", 1], ["[MASK]", 4]], { "[MASK]": { single_word: true, rstrip: true } }), normalizer: b("BertNormalizer", { clean_text: false, handle_chinese_chars: false, strip_accents: false, lowercase: false }), pre_tokenizer: b("BertPreTokenizer"), post_processor: b("BertProcessing", { sep: ["[SEP]", 3], cls: ["[CLS]", 2] }), model: { ...wp, max_input_chars_per_word: 12 } }),
  level: file({ normalizer: norms(b("NFD"), b("StripAccents"), b("Lowercase"), b("Strip", { strip_left: true, strip_right: true })), pre_tokenizer: b("Whitespace"), model: { type: "WordLevel", vocab: level, unk_token: "[UNK]" } }),
  digits: file({ normalizer: norms(b("NFKD"), b("Replace", { pattern: { Regex: "\\s{2,}" }, content: " " })), pre_tokenizer: seq(b("WhitespaceSplit"), b("Digits", { individual_digits: true }), b("Punctuation", { behavior: "MergedWithPrevious" })), model: wp }),
  contiguous: file({ normalizer: norms(b("NFKC"), b("Replace", { pattern: { String: "'" }, content: "’" }), b("Lowercase")), pre_tokenizer: seq(b("CharDelimiterSplit", { delimiter: " " }), b("Punctuation", { behavior: "Contiguous" }), b("Digits", { individual_digits: false })), model: wp }),
  next: file({ added_tokens: added([["the", 5]], { the: { normalized: true, special: false } }), normalizer: b("Lowercase"), pre_tokenizer: split({ Regex: "[aeiou]" }, "MergedWithNext"), model: wp }),
  inverted: file({ normalizer: b("NFC"), pre_tokenizer: split({ Regex: "\\w+" }, "Removed", true), model: wp }),
  gpt2: file({ added_tokens: added([["<|endoftext|>", 0]]), pre_tokenizer: b("ByteLevel", { add_prefix_space: false, trim_offsets: true, use_regex: true }), post_processor: b("ByteLevel", { add_prefix_space: true, trim_offsets: false, use_regex: true }), model: { type: "BPE", ...gpt } }),
  roberta: file({ added_tokens: added([["<s>", 1], ["</s>", 2]]), pre_tokenizer: b("ByteLevel", { add_prefix_space: true, trim_offsets: true, use_regex: true }), post_processor: b("RobertaProcessing", { sep: ["</s>", 2], cls: ["<s>", 1], trim_offsets: true, add_prefix_space: true }), model: { type: "BPE", ...gpt, merges: gpt.merges.map(m => m.join(" ")) } }),
  llama3: file({ pre_tokenizer: seq(split({ Regex: llama3 }, "Isolated"), b("ByteLevel", { add_prefix_space: false, trim_offsets: true, use_regex: false })), post_processor: { type: "Sequence", processors: [b("ByteLevel", { add_prefix_space: true, trim_offsets: false, use_regex: true }), around("<s>", 1, "</s>", 2)] }, model: { type: "BPE", ...gpt, ignore_merges: true } }),
  llama: file({ added_tokens: added([["<unk>", 0], ["<s>", 1], ["</s>", 2]]), normalizer: norms(b("Prepend", { prepend: "▁" }), b("Replace", { pattern: { String: " " }, content: "▁" })), model: { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true, byte_fallback: true, ...llama } }),
  clip: file({ normalizer: b("Lowercase"), pre_tokenizer: b("Whitespace"), model: { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: "", end_of_word_suffix: "</w>", fuse_unk: false, byte_fallback: false, ...clip } }),
  fused: file({ normalizer: b("Lowercase"), pre_tokenizer: b("WhitespaceSplit"), model: { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: "##", end_of_word_suffix: null, fuse_unk: true, byte_fallback: false, ...sub } }),
  xlmr: file({ added_tokens: added([["<s>", 1], ["</s>", 2], ["<pad>", 3]]), normalizer: b("Precompiled", { precompiled_charsmap: charsmap(folded) }), pre_tokenizer: seq(b("WhitespaceSplit"), b("Metaspace", { replacement: "▁", prepend_scheme: "always", split: true })), post_processor: around("<s>", 1, "</s>", 2), model: { type: "Unigram", unk_id: 0, vocab: unigram(false), byte_fallback: false } }),
  first: file({ added_tokens: added([["<s>", 1], ["</s>", 2]]), normalizer: norms(b("NFKC"), b("Replace", { pattern: { Regex: " {2,}" }, content: " " })), pre_tokenizer: b("Metaspace", { replacement: "▁", prepend_scheme: "first", split: true }), model: { type: "Unigram", unk_id: 0, vocab: unigram(true), byte_fallback: true } }),
  never: file({ pre_tokenizer: b("Metaspace", { replacement: "▁", prepend_scheme: "never", split: false }), model: { type: "Unigram", unk_id: 0, vocab: unigram(false), byte_fallback: false } }),
  // As published models have them: CLIP, BLOOM, GPT-4, ALBERT.
  "clip-split": file({ normalizer: norms(b("NFC"), b("Replace", { pattern: { Regex: "\\s+" }, content: " " }), b("Lowercase")), pre_tokenizer: seq(split({ Regex: "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+" }, "Removed", true), b("ByteLevel", { add_prefix_space: false, trim_offsets: true, use_regex: true })), post_processor: b("RobertaProcessing", { sep: ["</s>", 2], cls: ["<s>", 1], trim_offsets: false, add_prefix_space: false }), model: { type: "BPE", ...gpt } }),
  bloom: file({ pre_tokenizer: seq(split({ Regex: " ?[^(\\s|[.,!?…。，、।۔،])]+" }, "Isolated"), b("ByteLevel", { add_prefix_space: false, trim_offsets: true, use_regex: false })), model: { type: "BPE", ...gpt } }),
  gpt4: file({ pre_tokenizer: seq(split({ Regex: gpt4 }, "Removed", true), b("ByteLevel", { add_prefix_space: false, trim_offsets: true, use_regex: false })), model: { type: "BPE", ...gpt } }),
  albert: file({ added_tokens: added([["<s>", 1], ["</s>", 2]]), normalizer: norms(b("Replace", { pattern: { String: "``" }, content: '"' }), b("NFKD"), b("StripAccents"), b("Lowercase"), b("Precompiled", { precompiled_charsmap: charsmap(folded) })), pre_tokenizer: b("Metaspace", { replacement: "▁", prepend_scheme: "always", split: true }), post_processor: around("<s>", 1, "</s>", 2), model: { type: "Unigram", unk_id: 0, vocab: unigram(false), byte_fallback: false } }),
  nmt: file({ normalizer: norms(b("Nmt"), b("NFKC")), pre_tokenizer: b("WhitespaceSplit"), model: wp }),
  bytes: file({ normalizer: b("ByteLevel"), model: { type: "BPE", ...gpt } }),
  // Added tokens within words and within each other; ids that the library does not keep to; what is cut of pairs.
  within: file({ added_tokens: [...specials, ...added([["[MASK] is", 900], ["on the", 901], ["don", 902], ["n't", 903]], { "[MASK] is": { normalized: true }, "on the": { lstrip: true, normalized: true }, "n't": { single_word: true, normalized: true } })], normalizer: b("Lowercase"), pre_tokenizer: split({ Regex: "\\w+|[^\\w\\s]+" }, "Removed", true), post_processor: around("[CLS]", 2, "[SEP]", 3), truncation: { direction: "Left", max_length: 512, strategy: "LongestFirst", stride: 0 }, model: wp }),
  "first-alone": file({ pre_tokenizer: b("Whitespace"), post_processor: around("[CLS]", 2, "[SEP]", 3), truncation: { direction: "Right", max_length: 512, strategy: "OnlyFirst", stride: 0 }, model: wp }),
};
texts.push("x²½ ¾y ⁴z\u0e33 Ⓐb", "मि x ी ` ``a``", "aि\u0301b DON'T");

// What marks words by the space before them, and puts none before a text: words alone get one.
const spaced = new Set(["gpt2", "llama3", "never", "clip-split", "bloom", "gpt4"]);

(async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "golden-")), ids = {}, two = {}, cut = {}, words = {};
  for (const [name, t] of Object.entries(tokenizers)) {
    const at = path.join(dir, name + ".json");
    fs.writeFileSync(at, JSON.stringify(t));
    const tok = Tokenizer.fromFile(at);
    ids[name] = []; two[name] = []; cut[name] = []; words[name] = [];
    for (const s of texts) ids[name].push((await tok.encode(s, null, { addSpecialTokens: true })).getIds());
    for (const [x, y] of pairs) { const e = await tok.encode(x, y, { addSpecialTokens: true }); two[name].push([e.getIds(), e.getTypeIds()]); }
    const apart = s => s.split(/\s+/u).filter(Boolean).map(w => (spaced.has(name) ? " " : "") + w);
    // The binding takes no lists of words, of which the library makes tokens one by one, with special ones around all.
    const whole = (await tok.encode("a", null, { addSpecialTokens: true })).getIds(), bare = (await tok.encode("a", null, { addSpecialTokens: false })).getIds();
    const at0 = whole.findIndex((_, i) => bare.every((x, j) => whole[i + j] === x)), before = whole.slice(0, at0), after = whole.slice(at0 + bare.length);
    const ofWords = async (s, limit) => {
      let list = [], of = [];
      for (const [i, w] of apart(s).entries()) for (const id of (await tok.encode(w, null, { addSpecialTokens: false })).getIds()) { list.push(id); of.push(i); }
      const left = t.truncation && t.truncation.direction === "Left", room = Math.min(list.length, limit - before.length - after.length);
      const from = left ? list.length - room : 0;
      list = list.slice(from, from + room); of = of.slice(from, from + room);
      words[name].push([s.split(/\s+/u).filter(Boolean), [...before, ...list, ...after], [...before.map(() => -1), ...of, ...after.map(() => -1)]]);
    };
    for (const s of texts) if (apart(s).length) await ofWords(s, 1e9);
    for (const s of texts.slice(0, 2)) await ofWords(s, 7);
    await tok.setTruncation(7, t.truncation ? { direction: t.truncation.direction.toLowerCase(), strategy: t.truncation.strategy } : {});
    const ended = (x, y) => tok.encode(x, y).then(e => e.getIds(), () => null); // refused where one text is to be cut and the other too long
    for (const [x, y] of pairs) cut[name].push([await ended(x, null), await ended(x, y)]);
  }
  fs.rmSync(dir, { recursive: true });
  fs.writeFileSync(path.join(process.argv[2] || ".", "golden.json"), JSON.stringify({ tokenizers, texts, pairs, ids, two, cut, words }) + "\n");
})();
