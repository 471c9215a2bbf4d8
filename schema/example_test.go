package schema_test

import (
	"fmt"

	"github.com/sotto-dp/sotto/schema"
)

const loans = `
title = "Loans"
label = "repaid"
template = "The borrower is {age} years old. {sex.subject} asks for {amount} pounds."
question = "Was the loan repaid? Yes or No?"

[[column]]
name = "age"
kind = "numeric"
low = 18
high = 100
clamp = true # anyone who is older counts as 100

[[column]]
name = "sex"
kind = "categorical"
values = ["f", "m"]
forms.subject = { f = "She", m = "He" }

[[column]]
name = "amount"
kind = "numeric"
low = 0
high = 10000
edges = [1000] # also two bins

[[column]]
name = "repaid"
kind = "categorical"
values = ["0", "1"]
phrases = { 0 = "No", 1 = "Yes" }
`

func Example() {
	s, err := schema.Parse("loans", []byte(loans))
	if err != nil {
		fmt.Println(err)
		return
	}
	row := schema.Row{
		{Number: 41},
		{Code: 0, Discrete: true},
		{Code: 1, Discrete: true},
		{Code: 1, Discrete: true},
	}
	fmt.Println(s.Text(row))
	fmt.Println("Answer:", s.Answer(row))
	// Output:
	// The borrower is 41 years old. She asks for 1000 or more pounds. Was the loan repaid? Yes or No?
	// Answer: Yes
}

func ExampleColumn_Encoder() {
	s, err := schema.Parse("loans", []byte(loans))
	if err != nil {
		fmt.Println(err)
		return
	}
	age, sex := s.Columns[0].Encoder(), s.Columns[1].Encoder()
	for _, text := range []string{"41", "120", "forty", ""} {
		x, outcome := age.Number(text)
		fmt.Printf("%q: %v, %v\n", text, x, outcome)
	}
	code, outcome := sex.Code(" m")
	fmt.Println(code, outcome)
	code, outcome = sex.Code("x")
	fmt.Println(code, outcome)
	// Output:
	// "41": 41, ok
	// "120": 100, ok
	// "forty": 0, not a number
	// "": 0, missing
	// 1 ok
	// 0 outside of what the schema allows
}

func ExampleSchema_Task() {
	s, err := schema.Find("car-local")
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := s.Task()
	if err != nil {
		fmt.Println(err)
		return
	}
	row := s.Example()
	fmt.Print(task.AnswerDemo(s.Text(row), s.Answer(row)))
	// Output:
	// A car is described as follows: The buying price of this car is high or very high. The maintenance cost for this car is high or very high. The car can fit 4 or more people. The luggage boot in this car is medium-sized or big. The safety rating of this car is estimated to be medium or high. Is this car acceptable? Yes or No? Answer: Yes
}

func ExampleInfer() {
	s := schema.Infer([]string{"age", "sex"}, []schema.Kind{schema.Numeric, schema.Categorical})
	for _, p := range s.Check() {
		if !p.Warning {
			fmt.Println(p.Where+":", p.What)
		}
	}
	// Output:
	// name: it is missing
	// column[1].low: the bounds are missing
	// column[2].values: the list is missing
}
