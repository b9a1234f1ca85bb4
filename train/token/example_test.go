package token_test

import (
	"fmt"

	"github.com/graft-ml/graft/train/token"
)

func Example() {
	t, err := token.Parse([]byte(`{
		"normalizer": {"type": "Lowercase"},
		"pre_tokenizer": {"type": "BertPreTokenizer"},
		"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "good": 1, "##ness": 2, "!": 3}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Encode("Goodness, good!", 0).IDs)
	// Output: [1 2 0 1 3]
}
