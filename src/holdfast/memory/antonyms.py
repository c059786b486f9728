"""Antonyms, alternatives and synonyms, for comparing words by meaning.

Vectors put "staging" beside "production" and "enable" beside "disable": two words of a group here never match,
however near their vectors are. The synonyms are those that vectors miss.
"""

from __future__ import annotations

from functools import cache, lru_cache

from holdfast.core.likeness import stem, word_set

# Alternatives: two words of a line, chosen for the same purpose, contradict each other.
_ALTERNATIVES = """
sqlite postgres postgresql mysql mariadb mongodb mongo redis memcached duckdb dynamodb cassandra oracle elasticsearch
python ruby java kotlin scala go golang rust c c++ c# swift php perl javascript typescript js ts elixir haskell lua bash
npm yarn pnpm bun pip uv poetry cargo maven gradle conda brew apt
react vue svelte angular django flask fastapi rails express spring laravel next nuxt solid preact
docker podman kubernetes nomad swarm
aws azure gcp google heroku netlify vercel cloudflare amazon
json yaml toml xml csv ini markdown html protobuf parquet avro msgpack
rest graphql grpc soap websocket websockets
kafka rabbitmq sqs nats celery
pytest unittest jest vitest mocha junit cypress playwright selenium
black flake pylint eslint prettier ruff
webpack vite rollup esbuild parcel
git svn mercurial
github gitlab bitbucket gitea jenkins
sphinx mkdocs docusaurus
tabs spaces
main master develop trunk
cents dollars euros floats
md5 sha1 sha256 bcrypt argon2 scrypt
rsa ecdsa ed25519 hmac
squash rebase
mit apache gpl bsd
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
daily weekly monthly yearly hourly nightly
uuid integer ulid
"""

# The names of a category, with one of its members.
_LABELS = """
database db storage datastore: sqlite
language: python
manager installer: npm
framework library: react
container runtime orchestrator: docker
cloud provider hosting hoster: aws
format serialization: json
protocol style api: rest
broker queue bus: kafka
runner testing: pytest
linter formatter: black
bundler: webpack
vcs: git
forge ci: github
generator: sphinx
indentation whitespace: tabs
branch: main
currency: cents
hash hashing algorithm: sha256
signature: rsa
license licence: mit
month: june
day weekday: monday
"""

# Two things of one kind: neither the same nor a contradiction.
_KINDS = """
windows macos linux ios android ubuntu debian alpine fedora darwin
chrome firefox safari edge
http https tcp udp ssh ftp stdio
get post put patch delete head
slack email discord teams sms telegram
mypy pyright ruff
staging production prod development dev preview testing test qa sandbox canary
release feature hotfix main master develop
frontend backend middleware database server client browser proxy gateway
user admin agent system guest owner customer operator person developer
reader writer producer consumer publisher subscriber sender receiver parser renderer lexer compiler importer exporter
formatter linter indexer crawler scheduler worker handler router loader builder
request response query command event message
unit integration e2e end-to-end acceptance smoke load regression
line column row cell field table file folder character byte word page
size type name length width height age order count colour color value key
function method class module package variable import constant argument parameter interface struct enum
string integer number float boolean array list map set dict object
password token secret cookie session key certificate
store cache queue pool buffer index
path header body query cookie url fragment
readme changelog license docs documentation tests test code config migration benchmark
metrics traces logs alerts events
backup restore snapshot archive
memory disk cpu network gpu bandwidth
race leak deadlock crash bug
controller model view router
binary package image container source wheel
one two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred thousand
once twice thrice
second minute hour day week month quarter year millisecond
byte kb mb gb tb kilobyte megabyte gigabyte
red green blue yellow black white grey gray orange purple
left right top bottom middle center
north south east west
first second third last next previous
english german french spanish italian japanese chinese
create read update delete list insert
create add delete remove rename move copy
compress encrypt sign encode hash
sort filter group merge split
build test deploy lint format run
rebuild reload load unload
validate document
email invoice order payment refund
debug info warning error
major minor patch
author reviewer maintainer
primary replica secondary
client server / frontend backend / reader writer / importer exporter / import export / upload download
read write / get set / push pull / source target / parent child / input output / internal external / host guest
mount unmount / encode decode / encrypt decrypt / compress decompress / install uninstall / first last / old new
create delete / create destroy / insert delete / begin end / start end / merge split / min max / minimum maximum
upper lower / above below / over under / online offline / local remote / global local / early late / horizontal vertical
"""

_OPPOSITES = """
enable disable / allow deny / allow block / allow forbid / permit forbid / add remove / add delete / true false
pass fail / before after / public private / sync async / synchronous asynchronous / required optional
synchronously asynchronously
mandatory optional / include exclude / increase decrease / accept reject / open closed / start stop
show hide / keep drop / keep remove / keep delete / retain drop / support drop / on off
light dark / lock unlock / opt-in opt-out / always never / more less
most least / lower raise / raise reduce / increase reduce / grow shrink
success failure / succeed fail / connect disconnect / attach detach
fast slow / strict lenient / static dynamic / stateful stateless / mutable immutable
manual automatic / manual generated / hand generated / hand automatic / ascending descending
skip stop / skip abort / ignore report / ignore raise / expand collapse / visible hidden
valid invalid / safe unsafe / active inactive / legal illegal / empty full / eager lazy / rise fall
sequential parallel / even odd / inside outside / cheap expensive / trust distrust / known unknown
single multiple / temporary permanent / relative absolute / signed unsigned / approve reject / grant revoke
"""

_SYNONYMS = """
remove delete drop erase strip discard
skip ignore omit
empty clear flush wipe purge
start begin launch boot
startup boot
finish end complete
choose pick select
folder directory
retry again attempt try
deploy roll rollout
ship distribute deliver
live hold stand lie reside contain keep locate
call name title
single one
own separate dedicated
depend rely
talk communicate speak
before prior precede ahead
after once following
send sent emit
build built
make made create
run ran execute invoke
lose lost
write written
memory ram
manual hand
see seen show shown display
touch access reach
listen serve
need require must demand
error failure
crash break
fix repair
quick fast
check verify
hang freeze stall
slow sluggish
return respond
deploy deployment
validate validation
revert reversible rollback undo
config configuration settings
docs documentation
function routine
bug defect
limit cap bound
log record
permit allow
forbid prohibit disallow
use employ utilise utilize rely
within for
job task
place location
outdated stale
overwrite replace clobber
"""

_TURNING_PREFIXES = word_set("a un in im ir dis de non non- anti mis re pre post sub super multi")
_ROOT = 4
_NONE: set[int] = set()

_FILLERS = """
put place live hold happen come back everything anything thing suite pipeline amount behind within through over reserve
finish possible able way sort case must need require want ensure sure handle perform provide currently whole entire
own one single each every both several simply directly always usually normally generally available exist contain
based regard keep run get give stay remain leave become written write take go make made mean timestamp
"""


def opposite(one: str, other: str) -> bool:
    """Whether two stems are opposites."""
    return one != other and _together(one, other, _OPPOSITES)


def alternative(one: str, other: str) -> bool:
    """Whether two stems are alternatives, such as two databases or two package managers."""
    return one != other and _together(one, other, _ALTERNATIVES)


@lru_cache(maxsize=100_000)
def rival(one: str, other: str) -> bool:
    """Whether two stems must never match: opposites, two things of a category, `un-` and `re-`."""
    if one != other and any(_together(one, other, block) for block in (_OPPOSITES, _ALTERNATIVES, _KINDS)):
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= _ROOT and long.endswith(short) and long[: -len(short)] in _TURNING_PREFIXES


def synonymous(one: str, other: str) -> bool:
    return _together(one, other, _SYNONYMS)


def is_filler(word: str) -> bool:
    """Whether a stem adds nothing to the meaning of a sentence."""
    return word in _lines_of(_FILLERS)


def is_a(word: str, label: str) -> bool:
    """Whether a stem is a member of the category in a question: SQLite is a database."""
    return not _lines_of(_ALTERNATIVES).get(word, _NONE).isdisjoint(_labels().get(label, _NONE))


def is_label(word: str) -> bool:
    return word in _labels()


@lru_cache(maxsize=100_000)
def _together(one: str, other: str, block: str) -> bool:
    """Whether two stems are in the same line of a block."""
    lines = _lines_of(block)
    return not lines.get(one, _NONE).isdisjoint(lines.get(other, _NONE))


@cache
def _lines_of(block: str) -> dict[str, set[int]]:
    """The lines of a block that contain each stem."""
    places: dict[str, set[int]] = {}
    for number, line in enumerate(_lines(block)):
        for word in line.split():
            places.setdefault(stem(word), set()).add(number)
    return places


def _lines(block: str) -> list[str]:
    return [part for line in block.strip().splitlines() for part in line.split(" / ")]


@cache
def _labels() -> dict[str, set[int]]:
    labelled: dict[str, set[int]] = {}
    for line in _lines(_LABELS):
        labels, _, example = line.partition(": ")
        for word in labels.split():
            things = _lines_of(_ALTERNATIVES).get(stem(example), _NONE)
            labelled.setdefault(stem(word), set()).update(things)
    return labelled
