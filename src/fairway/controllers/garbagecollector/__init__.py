"""Objects whose owners are gone go too: by owner references and uid, background, foreground or orphaning."""
