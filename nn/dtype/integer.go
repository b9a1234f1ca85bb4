package dtype

// The integer types narrower than a byte. In memory each element is one byte, sign-extended for I4 and I2; only files pack them.
type (
	I4 int8  // Int4: -8 … 7
	U4 uint8 // Uint4: 0 … 15
	I2 int8  // Int2: -2 … 1
	U2 uint8 // Uint2: 0 … 3
)

// i4From keeps the low four bits of v.
func i4From(v int64) I4 { return I4(int8(v<<4) >> 4) }

// u4From keeps the low four bits of v.
func u4From(v int64) U4 { return U4(v & 15) }

// i2From keeps the low two bits of v.
func i2From(v int64) I2 { return I2(int8(v<<6) >> 6) }

// u2From keeps the low two bits of v.
func u2From(v int64) U2 { return U2(v & 3) }
