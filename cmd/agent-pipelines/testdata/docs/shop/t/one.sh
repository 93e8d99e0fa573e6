[ "$(cat one.txt)" = 1 ]
