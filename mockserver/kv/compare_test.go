package kv_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/mockserver/kv"
)

// comparisons are sequences of commands, which are separated by "; ". Arguments are
// separated by spaces. Each runs in stores of its own.
var comparisons = strings.Split(strings.TrimSpace(`
SET k v; APPEND k w; APPEND k2 x; GET k; APPEND k; HSET h f v; APPEND h x
SET k foobar; BITCOUNT k; BITCOUNT k 0 0; BITCOUNT k 0; BITCOUNT none
SET a abc; SET b abd; BITOP AND c a b; GET c; BITOP OR c a b; GET c; BITOP XOR c a none; BITOP NOT c a; BITOP NOT c a b; BITOP NAND c a b
SET k v; COPY k k2; COPY k k2; COPY k k2 REPLACE; COPY none k3; COPY k k; COPY k k REPLACE; COPY none none; COPY k; COPY k k4 FOO
SET k v EX 100; COPY k k2; TTL k2
DBSIZE; SET k v; DBSIZE; DBSIZE x
DECR n; DECRBY n 5; DECRBY n x; SET s x; DECR s; DECRBY n -9223372036854775808
SET k v; DEL k none; DEL k; DEL
ECHO hi; ECHO
SET k v; EXISTS k k none; EXISTS
SET k v; EXPIRE k 100; TTL k; EXPIRE none 1; EXPIRE k x; EXPIRE k 100 NX; EXPIRE k 200 XX; EXPIRE k 100 GT; EXPIRE k 100 LT; EXPIRE k 100 GT NX; EXPIRE k 100 FOO; EXPIRE k 9223372036854775807; EXPIRE k -1; EXISTS k
SET k v; PEXPIRE k 100000; TTL k; PEXPIRE k 60900; TTL k; PEXPIRE k 60400; TTL k; PEXPIRE k -1; EXISTS k; PEXPIRE k 9223372036854775807
SET k v; EXPIREAT k 4000000000; EXPIRETIME k; PEXPIRETIME k; EXPIREAT k 7999999999; EXPIRETIME k; EXPIREAT k 1; EXISTS k; EXPIRETIME k; SET k v; EXPIRETIME k; PEXPIRETIME k
SET k v; PEXPIREAT k 4000000000700; EXPIRETIME k; PEXPIREAT k 4000000000400; EXPIRETIME k; PEXPIREAT k 9999999999999; PEXPIRETIME k; PEXPIREAT k x
SETEX k 60 v; TTL k; PSETEX k 60900 v; TTL k; SETEX k 0 v; SETEX k x v; PSETEX k -1 v; TTL none; PTTL none; SET k v; TTL k; PTTL k; SETEX k 9223372036854775807 v
SET k v EX 100; PERSIST k; PERSIST k; PERSIST none; TTL k
FLUSHALL; FLUSHALL ASYNC; FLUSHALL FOO; FLUSHDB; SET k v; FLUSHDB ASYNC; DBSIZE
SET k v; GET k; GET none; GET; GET a b; RPUSH l a; GET l
SET k a; GETBIT k 0; GETBIT k 1; GETBIT k 100; GETBIT none 1; GETBIT k -1; GETBIT k x; SETBIT k 6 1; GET k; SETBIT k 7 2; SETBIT k -1 1; SETBIT n 2 1; GET n
SET k v; GETDEL k; GETDEL k; RPUSH l a; GETDEL l
SET k v; GETEX k EX 100; TTL k; GETEX k PERSIST; TTL k; GETEX none; GETEX k EX 0; GETEX k EX x; GETEX k EXAT 4000000000; EXPIRETIME k; GETEX k EX 5 PERSIST; GETEX k EX 9223372036854775807; GETEX k PX 1000 PERSIST; GETEX k PXAT 4000000000000; PEXPIRETIME k; GETEX k
SET k foobar; GETRANGE k 0 2; GETRANGE k -3 -1; GETRANGE k 4 100; GETRANGE k 5 1; GETRANGE k x 1; GETRANGE none 0 1
SET k v; GETSET k w; GETSET none x; RPUSH l a; GETSET l x; SET t v EX 100; GETSET t w; TTL t
HSET h f v g w; HDEL h f none; HDEL none f; HDEL h g; EXISTS h; HDEL h; SET s x; HDEL s f
HSET h f v; HEXISTS h f; HEXISTS h none; HEXISTS none f; HGET h f; HGET h none; HGET none f; HGETALL h; HGETALL none; HGET s
HINCRBY h n 5; HINCRBY h n -2; HINCRBY h n x; HSET h s x; HINCRBY h s 1; HINCRBY h n 9223372036854775807
HINCRBYFLOAT h n 1.5; HINCRBYFLOAT h n 0.1; HINCRBYFLOAT h n x; HSET h s x; HINCRBYFLOAT h s 1; HINCRBYFLOAT h e 3.0e3; HINCRBYFLOAT h n -5
HSET h a 1 b 2; HKEYS h; HVALS h; HLEN h; HLEN none; HKEYS none; HVALS none; HMGET h a none; HMGET none a; HMGET h; HSTRLEN h a; HSTRLEN h none
HMSET h a 1 b 2; HMSET h a; HGETALL h; HSET h a; HSET h a 9 c 3; HSETNX h a x; HSETNX h d y; HGETALL h
HSET h a 1; HRANDFIELD h; HRANDFIELD h 5; HRANDFIELD h -3; HRANDFIELD h 1 WITHVALUES; HRANDFIELD none; HRANDFIELD none 1; HRANDFIELD h 0
HSET h a 1; HSCAN h 0; HSCAN h 0 MATCH b*; HSCAN h 0 COUNT 10; HSCAN none 0; HSCAN h x; HSCAN h 0 FOO; HSCAN h 0 COUNT 0
INCR n; INCRBY n 5; INCRBY n x; SET s x; INCR s; SET m 9223372036854775807; INCR m; INCR; INCRBY n 1.5; RPUSH l a; INCR l
INCRBYFLOAT f 1.5; INCRBYFLOAT f 0.1; INCRBYFLOAT g 5.0e3; INCRBYFLOAT f x; SET s x; INCRBYFLOAT s 1; INCRBYFLOAT f -0.5; INCRBYFLOAT f inf; INCRBYFLOAT f nan
SET a 1; SET ab 2; SET b 3; KEYS a*; KEYS [ab]; KEYS ?; KEYS *; KEYS none; KEYS
RPUSH l a b c; LINDEX l 0; LINDEX l -1; LINDEX l 9; LINDEX none 0; LINDEX l x; LLEN l; LLEN none; LRANGE l 0 -1; LRANGE l 1 1; LRANGE l 5 1; LRANGE none 0 1; LRANGE l x 1
RPUSH l a c; LINSERT l BEFORE c b; LINSERT l AFTER c d; LINSERT l AFTER none x; LINSERT none AFTER a b; LINSERT l FOO a b; LRANGE l 0 -1
RPUSH l a b c; LMOVE l m LEFT RIGHT; LMOVE l l RIGHT LEFT; LRANGE l 0 -1; LMOVE none m LEFT LEFT; LMOVE l m FOO LEFT; RPOPLPUSH l m; LRANGE m 0 -1; RPOPLPUSH none m; SET s x; RPOPLPUSH l s
RPUSH l a b c; LMPOP 1 l LEFT; LMPOP 2 none l RIGHT COUNT 5; LMPOP 1 l LEFT; LMPOP 0 l LEFT; LMPOP 1 l FOO; LMPOP 1 l LEFT COUNT 0; LMPOP x l LEFT; EXISTS l
RPUSH l a b c; LPOP l; LPOP l 5; LPOP l; LPOP none 1; LPOP l -1; RPUSH l a b; RPOP l; RPOP l 1; RPOP none; EXISTS l; RPUSH l a; LPOP l 0; RPOP l 0; LPOP none 0
RPUSH l a b a c a; LPOS l a; LPOS l a RANK 2; LPOS l a COUNT 0; LPOS l a COUNT 2; LPOS l a RANK -1; LPOS l none; LPOS l none COUNT 1; LPOS l a RANK 0; LPOS l a MAXLEN 1; LPOS l a COUNT 0 MAXLEN 3; LPOS none a; LPOS l a COUNT -1; LPOS l a RANK -1 COUNT 2
LPUSH l a b; LPUSHX l c; LPUSHX none c; RPUSHX l d; RPUSHX none d; LRANGE l 0 -1; LPUSH l; SET s x; LPUSH s a
RPUSH l a b a; LREM l 1 a; LRANGE l 0 -1; LREM l -1 a; LREM l 0 none; LREM none 0 a; LREM l x a; LSET l 0 z; LSET l 5 z; LSET none 0 z; LSET l x z; LRANGE l 0 -1
RPUSH l a b c; LTRIM l 1 1; LRANGE l 0 -1; LTRIM l 5 9; EXISTS l; LTRIM none 0 1; LTRIM l x 1
SET a 1; SET b 2; MGET a none b; RPUSH l x; MGET a l; MGET; MSET a 5 c 6; MSET a; MSET a 1 b; MSETNX a 1 d 2; EXISTS d; MSETNX d 1 e 2; MGET a c d e
PFADD p a b c; PFADD p a; PFCOUNT p; PFCOUNT none; PFADD q d; PFCOUNT p q; PFMERGE r p q; PFCOUNT r; SET s x; PFADD s a; PFCOUNT s; PFMERGE r s
PING; PING hi; PING a b; PUBLISH c m; PUBLISH c
RANDOMKEY; SET k v; RANDOMKEY
SET k v; RENAME k k2; GET k2; RENAME none x; RENAMENX k2 k3; SET k4 x; RENAMENX k3 k4; RENAME k3 k3; RENAMENX k3 k3; RENAMENX none x; SET t v EX 100; RENAME t u; TTL u
SADD s a b a; SADD s a; SCARD s; SCARD none; SISMEMBER s a; SISMEMBER s x; SISMEMBER none a; SMISMEMBER s a x; SMISMEMBER none a; SMEMBERS s; SMEMBERS none; SREM s a x; SREM none a; SREM s b; EXISTS s; SADD s
SADD a 1 2 3; SADD b 2 3 4; SDIFF a b; SINTER a b; SUNION a b; SDIFFSTORE c a b; SMEMBERS c; SINTERSTORE c a b; SMEMBERS c; SUNIONSTORE c a b; SMEMBERS c; SINTER a none; SINTERSTORE c a none; EXISTS c; SDIFF none a; SUNION none; SET s x; SDIFF a s; SUNION s; SINTER none s
SADD a 1 2 3; SADD b 2 3 4; SINTERCARD 2 a b; SINTERCARD 2 a b LIMIT 1; SINTERCARD 1 none; SINTERCARD 0 a; SINTERCARD x a; SINTERCARD 3 a b; SINTERCARD 2 a b LIMIT -1; SINTERCARD 2 a b LIMIT 0
SADD a 1 2; SADD b 3; SMOVE a b 1; SMOVE a b 9; SMOVE none b 1; SMEMBERS b; SMOVE a a 2; SET s x; SMOVE a s 2
SADD s a; SPOP s; SPOP s; SPOP s 1; SADD s a b; SPOP s 5; EXISTS s; SPOP none 1; SADD s a; SPOP s -1; SPOP s 0; SRANDMEMBER s; SRANDMEMBER s 5; SRANDMEMBER s -3; SRANDMEMBER none; SRANDMEMBER none 2; SRANDMEMBER s 0; SRANDMEMBER s x
SADD s a; SSCAN s 0; SSCAN s 0 MATCH b; SSCAN s 0 COUNT 5; SSCAN none 0; SSCAN s x; SSCAN s 0 COUNT x
SET a 1; SCAN 0; SCAN 0 MATCH b*; SCAN 0 TYPE string; SCAN 0 TYPE hash; SCAN 0 COUNT 100; SCAN x; SCAN 0 COUNT 0; SCAN 0 COUNT x; SCAN 0 FOO
SET k v NX; SET k w NX; SET k w XX; SET none w XX; SET k v GET; SET k v NX GET; SET n v NX GET; SET k v EX 100; TTL k; SET k v KEEPTTL; TTL k; SET k v; TTL k; SET k v EX 0; SET k v EX x; SET k v PX 60000; TTL k; SET k v EXAT 4000000000; EXPIRETIME k; SET k v PXAT 4000000000000; PEXPIRETIME k; SET k v EX 1 PX 1; SET k v NX XX; SET k v FOO; SET k; SET k v EX; SET k v EX 9223372036854775807; RPUSH l a; SET l v GET; SET l v; GET l; SET k v EX 10 KEEPTTL; SET k v NX xx; SET p v PXAT 1; EXISTS p
SETNX k v; SETNX k w; GET k; SETRANGE k 3 x; GET k; SETRANGE none 0 x; SETRANGE k -1 x; SETRANGE k x x; STRLEN k; STRLEN none2; RPUSH l a; STRLEN l; SETRANGE e 5 a; GET e
TYPE none; SET k v; TYPE k; RPUSH l a; TYPE l; SADD s a; TYPE s; ZADD z 1 a; TYPE z; HSET h a b; TYPE h; XADD x 1-1 a b; TYPE x
SET k v; TOUCH k none; TOUCH; UNLINK k none; UNLINK; EXISTS k
SCRIPT EXISTS ffffffffffffffffffffffffffffffffffffffff; SCRIPT FLUSH; SCRIPT FOO; SCRIPT FLUSH FOO; SCRIPT FLUSH ASYNC; SCRIPT LOAD return; SCRIPT
EVAL return 0; EVAL return(1) 0; EVAL return{1,"a",{2},false,3.9} 0; EVAL return{err="x"} 0; EVAL return{ok="x"} 0; EVALSHA ffffffffffffffffffffffffffffffffffffffff 0; EVAL return(1) x; EVAL return(1) -1; EVAL return(1) 2 a; EVAL_RO return(1) 0; EVAL return 0 x
EVAL return(redis.call('SET','k','v')) 0; EVAL return(redis.call('GET','k')) 0; EVAL return(redis.call('GET','none')) 0; EVAL return(redis.call('TTL','k')) 0; EVAL return(redis.pcall('INCR','k')) 0; EVAL return(redis.call('HGETALL','h')) 0; EVAL return(redis.sha1hex('')) 0; EVAL return(redis.status_reply('X')) 0; EVAL return(redis.error_reply('X')) 0; EVAL return(redis.error_reply('MY')) 0
EVAL return(cjson.encode({1,2})) 0; EVAL return(cjson.decode('{"a":5}').a) 0; EVAL return(math.floor(3.7)) 0; EVAL return(tostring(1/3)) 0; EVAL return(#ARGV) 0 a b; EVAL return(KEYS[1]..ARGV[1]) 1 k v; EVAL return(string.find("abc","b")) 0; EVAL return(tonumber("0x10")) 0; EVAL return(redis.call('SET','f',0.1)) 0; GET f; EVAL return(redis.call('SET','f',1e15)) 0; GET f; EVAL return(1e15..1/4) 0
XADD x 1-1 a b; XADD x 1-1 a b; XADD x 0-0 a b; XADD x 2-* a b; XADD x 3 c d e f; XLEN x; XLEN none; XRANGE x - +; XRANGE x 2 +; XRANGE x (1-1 +; XRANGE x - + COUNT 1; XREVRANGE x + -; XREVRANGE x + - COUNT 1; XRANGE none - +; XDEL x 1-1; XDEL x 9-9; XLEN x; XADD x 9 a; XADD none NOMKSTREAM 1-1 a b; XRANGE x a b; XRANGE x - + COUNT x; XRANGE x - + COUNT 0
XADD x 1-1 a b; XADD x 2-1 a b; XADD x 3-1 a b; XADD x MAXLEN 2 4-1 a b; XLEN x; XTRIM x MAXLEN 1; XRANGE x - +; XTRIM x MINID 5; XLEN x; XTRIM x MAXLEN x; XTRIM x FOO 1; XTRIM none MAXLEN 1; XADD x MAXLEN = 1 6-1 a b; XADD x MINID 7 7-1 a b; XRANGE x - +; XTRIM x MAXLEN = 1 LIMIT 5
XADD x 1-1 a b; XREAD STREAMS x 0; XREAD STREAMS x 1-1; XREAD STREAMS x $; XREAD COUNT 1 STREAMS x none 0 0; XREAD STREAMS x; XREAD STREAMS x a; XREAD COUNT x STREAMS x 0; XREAD COUNT 1 STREAMS x 0 0
XGROUP CREATE x g 0; XGROUP CREATE x g 0 MKSTREAM; XGROUP CREATE x g 0; XADD x 1-1 a b; XADD x 2-1 a b; XREADGROUP GROUP g c STREAMS x >; XREADGROUP GROUP g c STREAMS x >; XREADGROUP GROUP g c STREAMS x 0; XREADGROUP GROUP none c STREAMS x >; XPENDING x g; XACK x g 1-1; XACK x g 1-1; XACK none g 1-1; XPENDING x g; XREADGROUP GROUP g c NOACK STREAMS x >; XGROUP DELCONSUMER x g c; XGROUP DELCONSUMER x g none; XGROUP DESTROY x g; XGROUP DESTROY x g; XGROUP CREATECONSUMER x g c; XPENDING x g; XGROUP FOO
XGROUP CREATE x g $ MKSTREAM; XADD x 1-1 a b; XADD x 2-1 a b; XREADGROUP GROUP g c COUNT 1 STREAMS x >; XGROUP CREATECONSUMER x g d; XGROUP CREATECONSUMER x g d; XCLAIM x g d 0 1-1; XCLAIM x g d 0 9-9; XCLAIM x g d 0 1-1 JUSTID; XCLAIM x none d 0 1-1; XCLAIM x g d x 1-1
ZADD z 1 a 2 b; ZADD z 3 a; ZADD z NX 9 a; ZADD z XX 4 none; ZADD z CH 5 a; ZADD z INCR 1 a; ZADD z GT 1 a; ZADD z LT CH 1 a; ZADD z NX XX 1 a; ZADD z x a; ZADD z 1; ZADD z NX INCR 1 a; ZADD z GT LT 1 a; ZADD z INCR 1 a 2 b; ZADD z inf c -inf d; ZADD z nan e; ZRANGE z 0 -1 WITHSCORES; SET s x; ZADD s 1 a
ZADD z 1 a 2 b; ZCARD z; ZCARD none; ZCOUNT z -inf +inf; ZCOUNT z (1 2; ZCOUNT z x 2; ZCOUNT none 0 1; ZSCORE z a; ZSCORE z none; ZSCORE none a; ZMSCORE z a none; ZMSCORE none a; ZRANK z b; ZRANK z none; ZRANK none a; ZREVRANK z b; ZREVRANK z none; ZRANK z
ZINCRBY z 1.5 a; ZINCRBY z -3 a; ZINCRBY z x a; ZINCRBY z inf a; ZINCRBY z -inf a; ZSCORE z a; ZADD y 0.5 a 1e20 b 1e21 c 123456789012 d 0 e 17 h; ZRANGE y 0 -1 WITHSCORES
ZADD a 1 x 2 y; ZADD b 3 y 4 z; ZINTER 2 a b; ZINTER 2 a b WITHSCORES; ZINTER 2 a b WEIGHTS 2 3 AGGREGATE MAX WITHSCORES; ZUNION 2 a b WITHSCORES; ZUNION 2 a b WEIGHTS 2 3 AGGREGATE MIN WITHSCORES; ZINTERSTORE c 2 a b; ZRANGE c 0 -1 WITHSCORES; ZUNIONSTORE c 2 a b; ZRANGE c 0 -1 WITHSCORES; ZUNIONSTORE c 1 none; EXISTS c; ZUNION 0 a; ZUNION x a; ZUNIONSTORE c 2 a; ZUNIONSTORE c 2 a b WEIGHTS 1; ZUNIONSTORE c 2 a b AGGREGATE FOO; SADD s x; ZUNION 2 a s WITHSCORES; ZINTER 2 a s WITHSCORES; SET t x; ZUNION 2 a t; ZUNIONSTORE c 2 a b WEIGHTS x 1
ZADD z 0 a 0 b 0 c; ZLEXCOUNT z - +; ZLEXCOUNT z [b +; ZLEXCOUNT z x +; ZRANGEBYLEX z - [b; ZRANGEBYLEX z (a +; ZRANGEBYLEX z - + LIMIT 1 1; ZREVRANGEBYLEX z + -; ZREVRANGEBYLEX z [b -; ZRANGEBYLEX z x y; ZREMRANGEBYLEX z [a (b; ZRANGE z 0 -1; ZREMRANGEBYLEX none - +; ZREMRANGEBYLEX z x y; ZRANGEBYLEX none - +
ZADD z 1 a 2 b 3 c; ZMPOP 1 z MIN; ZMPOP 2 none z MAX COUNT 5; ZMPOP 1 z MIN; ZMPOP 0 z MIN; ZMPOP 1 z FOO; ZMPOP 1 z MIN COUNT 0; EXISTS z; ZMPOP x z MIN
ZADD z 1 a 2 b 3 c; ZPOPMAX z; ZPOPMIN z; ZPOPMIN z 5; ZPOPMIN z; ZPOPMAX none; ZPOPMIN z -1; ZADD z 1 a; ZPOPMAX z 0; ZPOPMAX z x; ZPOPMIN z 2
ZADD z 1 a; ZRANDMEMBER z; ZRANDMEMBER z 3; ZRANDMEMBER z -2; ZRANDMEMBER z 1 WITHSCORES; ZRANDMEMBER none; ZRANDMEMBER none 1; ZRANDMEMBER z 0; ZRANDMEMBER z x
ZADD z 1 a 2 b 3 c; ZRANGE z 0 -1; ZRANGE z 0 0 WITHSCORES; ZRANGE z 0 -1 REV; ZRANGE z 1 2 BYSCORE; ZRANGE z 2 1 BYSCORE REV; ZRANGE z (1 +inf BYSCORE LIMIT 0 1; ZRANGE z [a [b BYLEX; ZRANGE z 0 -1 LIMIT 0 1; ZRANGE z x 1; ZRANGE none 0 1; ZRANGE z 5 9; ZRANGE z 0 -1 FOO; ZRANGE z [b [a BYLEX REV; ZRANGE z 0 -1 REV WITHSCORES
ZADD z 1 a 2 b 3 c; ZRANGEBYSCORE z -inf +inf; ZRANGEBYSCORE z (1 3 WITHSCORES; ZRANGEBYSCORE z 1 3 LIMIT 1 1; ZRANGEBYSCORE z x 1; ZREVRANGEBYSCORE z 3 1; ZREVRANGEBYSCORE z +inf -inf WITHSCORES LIMIT 0 2; ZREVRANGE z 0 -1; ZREVRANGE z 0 0 WITHSCORES; ZRANGEBYSCORE z 1 3 LIMIT 0 -1; ZRANGEBYSCORE z 1 3 LIMIT -1 5; ZREVRANGE none 0 1; ZRANGEBYSCORE z 1 3 LIMIT 1; ZRANGEBYSCORE z 1 3 FOO
ZADD z 1 a 2 b 3 c 4 d; ZREM z a none; ZREM none a; ZREMRANGEBYRANK z 0 0; ZREMRANGEBYSCORE z 4 4; ZRANGE z 0 -1; ZREMRANGEBYSCORE z (3 +inf; ZREMRANGEBYRANK z 0 -1; EXISTS z; ZREMRANGEBYSCORE none 0 1; ZREMRANGEBYRANK none 0 1; ZREMRANGEBYSCORE none x 1; ZREM z
ZADD z 1 a; ZSCAN z 0; ZSCAN z 0 MATCH b; ZSCAN none 0; ZSCAN z x; ZSCAN z 0 COUNT 5
SET s v; XLEN s; GET s; RPUSH l a; XLEN l; LRANGE l 0 -1
HSET h f v; GETEX h EX 100; TTL h; XADD x bad f v; EXISTS x; XADD y 1-1 f v; XADD y bad f v; EXISTS y
SET db v; COPY db sync; COPY sync db; SET bit abc; BITCOUNT bit; BITCOUNT bit 0 0; XGROUP CREATE x setid 0 MKSTREAM; XGROUP DESTROY x setid; SCRIPT LOAD kill
`), "\n")

// unordered are commands whose reply is a list in no particular order.
var unordered = map[string]bool{"HGETALL": true, "HKEYS": true, "HVALS": true, "KEYS": true, "SDIFF": true, "SINTER": true, "SMEMBERS": true, "SPOP": true, "SUNION": true}

// TestTheEmbeddedStoreRepliesAsARealServer compares the reply to each command.
func TestTheEmbeddedStoreRepliesAsARealServer(t *testing.T) {
	t.Parallel()
	real := newKV(t, kv.Config{Token: "secret", URL: realRedis(t)})
	for _, sequence := range comparisons {
		commands := [][]string{}
		for command := range strings.SplitSeq(sequence, "; ") {
			commands = append(commands, strings.Fields(command))
		}
		send(t, real, "/", []string{"FLUSHALL"})
		embedded := newKV(t, kv.Config{Token: "secret"})
		got, want := replies(t, embedded, commands), replies(t, real, commands)
		for i, command := range commands {
			if got[i] != want[i] {
				t.Errorf("%s\nafter %v:\n got %s\nwant %s", strings.Join(command, " "), commands[:i], got[i], want[i])
			}
		}
	}
}

// refused are commands and options that the embedded store does not have.
var refused = `BITCOUNT k 0 1 BIT; BITFIELD k GET u8 0; BITPOS k 1; COMMAND; COPY k k2 DB 1; DUMP k; FLUSHALL SYNC; FUNCTION LIST; GEOADD g 1 2 m; GEODIST g a b; GEOPOS g a
	GEOSEARCH g FROMLONLAT 1 2 BYRADIUS 1 m; HEXPIRE h 1 FIELDS 1 f; HEXPIREAT h 99999999999 FIELDS 1 f; HPEXPIRE h 1 FIELDS 1 f; HTTL h FIELDS 1 f; INFO; JSON.GET d; JSON.SET d $ 1
	MEMORY USAGE k; MOVE k 1; NOSUCHCOMMAND; OBJECT ENCODING k; RESTORE k 0 x; SCRIPT KILL; SORT l; XADD x MAXLEN ~ 1 LIMIT 1 * a b; XAUTOCLAIM x g c 0 0; XGROUP SETID x g 0; XINFO STREAM x; ZDIFFSTORE a 1 b`

func TestCommandsThatTheEmbeddedStoreLacksNameTheRealServer(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret"})
	for command := range strings.SplitSeq(strings.ReplaceAll(refused, "\n\t", "; "), "; ") {
		words := strings.Fields(command)
		if got := send(t, store, "/", words); !strings.HasPrefix(got, `{"error":"ERR unknown `) || !strings.Contains(got, "--kv-url redis://HOST:PORT") {
			t.Errorf("%s: got %s, want a refusal that names --kv-url", command, got)
		}
		if got := send(t, store, "/multi-exec", [][]string{{"SET", "written", "1"}, words}); !strings.Contains(got, "EXECABORT") {
			t.Errorf("%s in a transaction: got %s, want EXECABORT", command, got)
		}
		if got := send(t, store, "/", append([]string{"EVAL", "return redis.call(unpack(ARGV))", "0"}, words...)); !strings.HasPrefix(got, `{"error":"ERR `) {
			t.Errorf("%s in a script: got %s, want an error", command, got)
		}
	}
	if got := send(t, store, "/", []string{"EXISTS", "written"}); got != `{"result":0}` {
		t.Errorf("after the transactions: got %s, want nothing written", got)
	}
}

// TestEveryCommandOfTheEmbeddedStoreIsCompared asks a real server for the names of its
// commands.
func TestEveryCommandOfTheEmbeddedStoreIsCompared(t *testing.T) {
	t.Parallel()
	compared := map[string]bool{"EVALSHA_RO": true, "TIME": true} // the former as EVALSHA; the latter is never the same
	for _, sequence := range comparisons {
		for command := range strings.SplitSeq(sequence, "; ") {
			compared[strings.Fields(command)[0]] = true
		}
	}
	var names struct{ Result []string }
	if err := json.Unmarshal([]byte(send(t, newKV(t, kv.Config{Token: "secret", URL: realRedis(t)}), "/", []string{"COMMAND", "LIST"})), &names); err != nil || len(names.Result) < 100 {
		t.Fatalf("names of commands: got %v, %v", names.Result, err)
	}
	store := newKV(t, kv.Config{Token: "secret"})
	for _, name := range names.Result {
		name = strings.ToUpper(name)
		if got := send(t, store, "/", []string{name}); !compared[name] && !strings.Contains(got, "--kv-url") && !strings.Contains(got, "is not available") {
			t.Errorf("%s: got %s, want a comparison or a refusal", name, got)
		}
	}
}

func TestAnExpiryBeyondTheEmbeddedStoreIsRefused(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret"})
	for _, command := range []string{"EXPIREAT k 99999999999", "PEXPIREAT k 99999999999999", "EXPIRE k 9999999999", "SET k v EXAT 99999999999", "SETEX k 9999999999 v"} {
		if got := send(t, store, "/", strings.Fields(command)); !strings.Contains(got, "within 292 years") {
			t.Errorf("%s: got %s, want a refusal", command, got)
		}
	}
}

// replies returns the reply to each command as JSON.
func replies(t *testing.T, store *kv.KV, commands [][]string) []string {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal([]byte(send(t, store, "/pipeline", commands)), &list); err != nil || len(list) != len(commands) {
		t.Fatalf("%v: got %v, %v", commands, list, err)
	}
	out := make([]string, len(list))
	for i, reply := range list {
		if items, ok := reply["result"].([]any); ok && unordered[commands[i][0]] {
			slices.SortFunc(items, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		if text, ok := reply["error"].(string); ok {
			reply["error"], _, _ = strings.Cut(text, " ") // texts may differ, kinds not
		}
		text, err := json.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(text)
	}
	return out
}
