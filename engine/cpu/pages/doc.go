// Package pages allocates the memory that an executor goes through with every step: packed
// weights. A stream's next token reads all of them, far more than caches hold. With
// pages of 4 KiB the processor looks up a translation for each and ends its prefetching
// with each; huge pages make the same reading up to a third faster. Linux gives them to
// those that ask: https://docs.kernel.org/admin-guide/mm/transhuge.html.
package pages
