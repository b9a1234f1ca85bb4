// Package picture decodes image files to pixels of three bytes, to the bit as the libraries do that
// most pictures are read with: chroma of JPEG and WebP is interpolated, where Go's own packages
// repeat it. Formats: JPEG, PNG, BMP, TIFF, WebP and PNM.
package picture
