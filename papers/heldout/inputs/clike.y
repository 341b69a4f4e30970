/* A language of declarations, statements and expressions, about as large as C's grammar without its preprocessor. */
%define parse.error verbose
%token ID TYPE NUM STR CHAR IF ELSE WHILE DO FOR RETURN BREAK CONTINUE SWITCH CASE DEFAULT GOTO STRUCT UNION ENUM
%token TYPEDEF STATIC EXTERN CONST VOLATILE SIZEOF INC DEC ARROW SHL SHR LE GE EQ NE AND OR ELLIPSIS
%token ADDA SUBA MULA DIVA MODA SHLA SHRA ANDA XORA ORA VOID INT LONG SHORT CHART FLOAT DOUBLE SIGNED UNSIGNED
%nonassoc THEN
%nonassoc ELSE
%%
unit: external | unit external ;
external: function | declaration ;
function: specs declarator block | specs declarator decls block ;
decls: declaration | decls declaration ;
declaration: specs ';' | specs inits ';' ;
specs: storage | storage specs | type | type specs | qualifier | qualifier specs ;
inits: init | inits ',' init ;
init: declarator | declarator '=' initializer ;
storage: TYPEDEF | STATIC | EXTERN ;
type: VOID | CHART | SHORT | INT | LONG | FLOAT | DOUBLE | SIGNED | UNSIGNED | aggregate | enumeration | TYPE ;
qualifier: CONST | VOLATILE ;
aggregate: kind ID '{' members '}' | kind '{' members '}' | kind ID ;
kind: STRUCT | UNION ;
members: member | members member ;
member: quals fields ';' ;
quals: type quals | type | qualifier quals | qualifier ;
fields: field | fields ',' field ;
field: declarator | ':' constant | declarator ':' constant ;
enumeration: ENUM '{' names '}' | ENUM ID '{' names '}' | ENUM ID ;
names: name | names ',' name ;
name: ID | ID '=' constant ;
declarator: pointer direct | direct ;
direct: ID | '(' declarator ')' | direct '[' constant ']' | direct '[' ']' | direct '(' params ')' | direct '(' ids ')' | direct '(' ')' ;
pointer: '*' | '*' qlist | '*' pointer | '*' qlist pointer ;
qlist: qualifier | qlist qualifier ;
params: plist | plist ',' ELLIPSIS ;
plist: param | plist ',' param ;
param: specs declarator | specs abstract | specs ;
ids: ID | ids ',' ID ;
typename: quals | quals abstract ;
abstract: pointer | dabstract | pointer dabstract ;
dabstract: '(' abstract ')' | '[' ']' | '[' constant ']' | dabstract '[' ']' | dabstract '[' constant ']' | '(' ')'
	| '(' params ')' | dabstract '(' ')' | dabstract '(' params ')' ;
initializer: assign | '{' ilist '}' | '{' ilist ',' '}' ;
ilist: initializer | ilist ',' initializer ;
statement: labelled | block | simple | choice | loop | jump ;
labelled: ID ':' statement | CASE constant ':' statement | DEFAULT ':' statement ;
block: '{' '}' | '{' statements '}' | '{' decls '}' | '{' decls statements '}' ;
statements: statement | statements statement ;
simple: ';' | expr ';' ;
choice: IF '(' expr ')' statement %prec THEN | IF '(' expr ')' statement ELSE statement | SWITCH '(' expr ')' statement ;
loop: WHILE '(' expr ')' statement | DO statement WHILE '(' expr ')' ';' | FOR '(' simple simple ')' statement
	| FOR '(' simple simple expr ')' statement ;
jump: GOTO ID ';' | CONTINUE ';' | BREAK ';' | RETURN ';' | RETURN expr ';' ;
expr: assign | expr ',' assign ;
assign: cond | unary op assign ;
op: '=' | MULA | DIVA | MODA | ADDA | SUBA | SHLA | SHRA | ANDA | XORA | ORA ;
constant: cond ;
cond: lor | lor '?' expr ':' cond ;
lor: land | lor OR land ;
land: bor | land AND bor ;
bor: bxor | bor '|' bxor ;
bxor: band | bxor '^' band ;
band: equal | band '&' equal ;
equal: rel | equal EQ rel | equal NE rel ;
rel: shift | rel '<' shift | rel '>' shift | rel LE shift | rel GE shift ;
shift: add | shift SHL add | shift SHR add ;
add: mul | add '+' mul | add '-' mul ;
mul: cast | mul '*' cast | mul '/' cast | mul '%' cast ;
cast: unary | '(' typename ')' cast ;
unary: postfix | INC unary | DEC unary | uop cast | SIZEOF unary | SIZEOF '(' typename ')' ;
uop: '&' | '*' | '+' | '-' | '~' | '!' ;
postfix: primary | postfix '[' expr ']' | postfix '(' ')' | postfix '(' args ')' | postfix '.' ID | postfix ARROW ID
	| postfix INC | postfix DEC ;
primary: ID | NUM | CHAR | STR | '(' expr ')' ;
args: assign | args ',' assign ;
%%
