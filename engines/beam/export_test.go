package beam

// OnPrism is for examples.
var OnPrism = onPrism
