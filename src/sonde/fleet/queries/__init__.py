"""Questions of a store and the engines that answer them."""
