//! Wire codecs of the model APIs, sans-IO: request builders, stream decoders, the model catalog.
