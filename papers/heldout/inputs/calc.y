%token NUMBER
%left '+' '-'
%left '*' '/'
%right UMINUS
%%
lines: %empty | lines line ;
line: expr '\n' | '\n' | error '\n' ;
expr: expr '+' expr | expr '-' expr | expr '*' expr | expr '/' expr | '-' expr %prec UMINUS | '(' expr ')' | NUMBER ;
%%
