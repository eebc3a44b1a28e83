def fill(t,r,tb): return t
