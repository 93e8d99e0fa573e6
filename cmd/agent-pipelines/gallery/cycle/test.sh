# The tests of the project, in the Test Anything Protocol.
n=0 status=0
for part in walls roof; do
	n=$((n + 1))
	if [ -s "$part.txt" ]; then
		echo "ok $n - $part"
	else
		echo "not ok $n - $part"
		status=1
	fi
done
echo "1..$n"
exit $status
