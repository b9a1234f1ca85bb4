// Package token makes token ids of text, as a tokenizer.json file of the Hugging Face tokenizers library describes it:
// WordPiece, BPE (by characters and by bytes), Unigram (SentencePiece) and WordLevel, with their normalizers,
// pre-tokenizers and special tokens.
//
//	t, err := token.Load("tokenizer.json")
//	ids := t.Encode("Hello there!", 128).IDs
//
// What a file asks for and the package lacks is an error that names it, when the file is read: no text is ever
// tokenized otherwise than the file says. Offsets and decoding are not part of the package.
package token
