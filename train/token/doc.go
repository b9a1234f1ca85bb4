// Package token tokenizes texts as described by a tokenizer.json file of the Hugging Face tokenizers library:
// WordPiece, BPE (by characters and by bytes), Unigram (SentencePiece) and WordLevel, with their normalizers,
// pre-tokenizers and special tokens.
//
//	t, err := token.Load("tokenizer.json")
//	ids := t.Encode("Hello there!", 128).IDs
//
// If a file uses something that the package does not support, reading it is an error that names it: no text is ever
// tokenized differently than the file says. The one exception are characters that are newer than the Unicode tables
// of that library, as those of Unicode 13 are: punctuation and accents among them are treated as such here. Offsets and decoding are not part of the package.
//
// A text of a megabyte takes a second or more: EncodeUntil ends with its context.
//
// Learn makes a tokenizer from texts. ReadConll reads sentences whose words have labels.
package token
