"""Records of one channel: series, files of every format, resampling."""
