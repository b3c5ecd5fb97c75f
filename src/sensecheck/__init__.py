"""sensecheck: is it faithful, correct, diverse, robust, calibrated?"""
